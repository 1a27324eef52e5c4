"""Figures of the published studies; needs the extra ``analysis``. :mod:`wafer.plot` has those of runs.

``python -m wafer.figures RECORDS... --out DIR`` plots every study figure whose records are given, as PDF and
PNG.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wafer._arguments import file, read_text
from wafer._errors import ConfigError
from wafer.figures.studies import FIGURES, Material
from wafer.plot.curves import plot_fit, plot_result
from wafer.plot.style import COLOURS, save, styled
from wafer.plot.sweeps import crossover, plot_crossover, plot_sweep
from wafer.results import records_of

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
        A path does not exist, a file is damaged, or one given by name is not a record. Other JSON files
        of folders are skipped.
    """
    material = Material()
    for path in (Path(file("paths", path)) for path in paths):
        if not path.exists():
            raise ConfigError(f"{path}: no such file or folder")
        for found in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
            if found.name == "reproduce.json":
                material.rows.extend(_rows(found))
            else:
                material.results.extend(records_of(found, skip=path.is_dir()))
    return material


def _rows(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of ``reproduce.json``."""
    try:
        table = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}: {error}") from None
    rows = table.get("rows") if isinstance(table, dict) else None
    if not isinstance(rows, list):
        raise ConfigError(f"{path}: not a table of `wafer reproduce`: no rows")
    for number, row in enumerate(rows):
        known = isinstance(row, dict) and "/" in str(row.get("id"))
        if not known or not isinstance(row.get("published"), (int, float)):
            raise ConfigError(f"{path}: rows[{number}]: expected an id and a published value")
    return rows


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
    material, folder = read_material(paths), Path(file("out", out))
    drawn: dict[str, list[Path]] = {}
    missing: list[str] = []
    for figure in FIGURES:
        with styled():
            made = figure.draw(material)
        if made is None:
            missing.append(figure.name)
        else:
            drawn[figure.name] = save(made, *(folder / f"{figure.name}.{kind}" for kind in ("pdf", "png")))
    return drawn, missing
