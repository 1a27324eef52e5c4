"""Figures of the published studies; needs ``wafer[analysis]``. :mod:`wafer.plot` has those of runs.

``python -m wafer.figures RECORDS... --out DIR`` plots every study figure whose records are given, as PDF and
PNG.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from wafer._errors import ConfigError
from wafer.figures.studies import FIGURES, Material
from wafer.plot.curves import plot_fit, plot_result
from wafer.plot.style import COLOURS, save, styled
from wafer.plot.sweeps import crossover, plot_crossover, plot_sweep
from wafer.result import read_results

__all__ = [
    "COLOURS",
    "FIGURES",
    "Material",
    "crossover",
    "draw_all",
    "plot_crossover",
    "plot_fit",
    "plot_result",
    "plot_sweep",
    "read_material",
]


def read_material(paths: Iterable[str | os.PathLike[str]]) -> Material:
    """Reads result records and ``reproduce.json`` from files, and from folders recursively.

    Raises
    ------
    ConfigError
        A path does not exist, or a file given by name is not a record.
    """
    material = Material()
    for path in map(Path, paths):
        if not path.exists():
            raise ConfigError(f"{path}: no such file or folder")
        for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
            if file.name == "reproduce.json":
                material.rows.extend(json.loads(file.read_text(encoding="utf-8"))["rows"])
            else:
                try:
                    material.results.extend(read_results(file))
                except ConfigError:
                    if not path.is_dir():
                        raise
    return material


def draw_all(
    paths: Iterable[str | os.PathLike[str]], out: str | os.PathLike[str]
) -> tuple[dict[str, list[Path]], list[str]]:
    """Plots every study figure whose records are among ``paths`` into the folder ``out``.

    Returns
    -------
    tuple[dict[str, list[Path]], list[str]]
        The written files by figure, and the names of the figures without records.

    Raises
    ------
    ConfigError
        As for :func:`wafer.figures.read_material`.
    """
    material = read_material(paths)
    drawn: dict[str, list[Path]] = {}
    missing: list[str] = []
    for figure in FIGURES:
        with styled():
            made = figure.draw(material)
        if made is None:
            missing.append(figure.name)
        else:
            drawn[figure.name] = save(made, *(Path(out) / f"{figure.name}.{kind}" for kind in ("pdf", "png")))
    return drawn, missing
