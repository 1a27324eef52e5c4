"""Plots of runs, sweeps and fits for papers; needs the extra ``analysis``.

Functions that draw one plot take and return Matplotlib axes. New figures are one column of a paper wide;
``axes(width=TWO_COLUMNS)`` makes wider ones. Lines are named at their ends, handles have the colours of the
report page, and :func:`wafer.plot.save` writes SVG and PDF whose text can be edited.
"""

from wafer.plot.curves import plot_fit as fit
from wafer.plot.curves import plot_result as result
from wafer.plot.heatmap import plot_heatmap as heatmap
from wafer.plot.labels import label_lines
from wafer.plot.multiples import plot_multiples as multiples
from wafer.plot.style import COLOURS, ONE_COLUMN, TWO_COLUMNS, axes, handle_colour, save, styled
from wafer.plot.sweeps import plot_crossover as crossover
from wafer.plot.sweeps import plot_sweep as sweep

__all__ = [
    "COLOURS",
    "ONE_COLUMN",
    "TWO_COLUMNS",
    "axes",
    "crossover",
    "fit",
    "handle_colour",
    "heatmap",
    "label_lines",
    "multiples",
    "result",
    "save",
    "styled",
    "sweep",
]
