"""Rows of a sweep as an xarray dataset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wafer._errors import ConfigError
from wafer._extras import need

if TYPE_CHECKING:
    import xarray

__all__ = ["dataset"]

_TEXTS = ("status", "digest", "record", "error")


def dataset(rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> xarray.Dataset:
    """Returns a dataset with a dimension for each key, or a single one if the points are not a grid.

    Raises
    ------
    ConfigError
        Two points have the same keys.
    MissingExtra
        Xarray is not installed.
    """
    xr = need("xarray", "frames")
    places = [tuple(_plain(row[key]) for key in keys) for row in rows]
    if len(set(places)) < len(places):
        raise ConfigError("to_xarray: two points of the sweep have the same keys")
    values = [list(dict.fromkeys(place[i] for place in places)) for i in range(len(keys))]
    ordered = [sorted(found) if _numeric(found) else found for found in values]
    variables = [name for name in rows[0] if name not in keys and name != "id"] if rows else []
    # A grid may lack points, but most are there.
    if not keys or math.prod(map(len, ordered)) >= 2 * len(places):
        columns = {name: ("point", [row[name] for row in rows]) for name in variables}
        coordinates = {key: ("point", [place[i] for place in places]) for i, key in enumerate(keys)}
        made: xarray.Dataset = xr.Dataset(columns, coordinates)
        return made
    at = [{value: i for i, value in enumerate(found)} for found in ordered]
    shape = [len(found) for found in ordered]
    arrays: dict[str, Any] = {}
    for name in variables:
        text = name in _TEXTS
        array: Any = np.full(shape, None if text else np.nan, dtype=object if text else np.float64)
        for row, place in zip(rows, places):
            if row[name] is not None:
                array[tuple(index[value] for index, value in zip(at, place))] = row[name]
        arrays[name] = (list(keys), array)
    gridded: xarray.Dataset = xr.Dataset(arrays, dict(zip(keys, ordered)))
    return gridded


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


def _numeric(values: Sequence[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)
