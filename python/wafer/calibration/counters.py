"""Counters of a real drive over time: CSV files and nvme-cli's ``fdp stats``."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wafer._arguments import file as path_of
from wafer._arguments import read_text
from wafer._errors import ConfigError

__all__ = ["Curve", "read_curve"]

# Names of the two columns, in lower case.
_HOST = ("host_bytes", "hbmw")
_MEDIA = ("media_bytes", "mbmw")
# Types of a counter in JSON.
_NUMBER = (int, float, str)
_TEXT = re.compile(r"\((HBMW|MBMW)\)\s*:\s*([0-9][0-9_,]*|0x[0-9a-fA-F]+)\b")


@dataclass(frozen=True, eq=False)
class Curve:
    """Cumulative host and media bytes of a drive, relative to the first sample.

    Attributes
    ----------
    host_bytes
        Bytes written by the host, strictly increasing from 0.
    media_bytes
        Bytes written to the media, non-decreasing from 0; same length.
    """

    host_bytes: npt.NDArray[np.float64]
    media_bytes: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.host_bytes)

    @property
    def waf(self) -> npt.NDArray[np.float64]:
        """Cumulative WAF at each sample; 1 at the first."""
        return np.divide(self.media_bytes, self.host_bytes, out=np.ones(len(self)), where=self.host_bytes > 0)

    def until(self, host_bytes: float) -> Curve:
        """Returns the samples up to ``host_bytes``."""
        kept = self.host_bytes <= host_bytes
        return Curve(self.host_bytes[kept], self.media_bytes[kept])

    def media_at(self, host_bytes: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Returns the media bytes at ``host_bytes``, interpolated linearly between samples."""
        return np.interp(np.asarray(host_bytes, dtype=np.float64), self.host_bytes, self.media_bytes)


def read_curve(path: str | os.PathLike[str], capacity: int | None = None) -> Curve:
    """Reads a curve in one of these formats.

    - CSV with columns ``host_bytes`` and ``media_bytes`` (or ``hbmw`` and ``mbmw``); others are ignored.
    - CSV with columns ``volume``, in multiples of ``capacity``, and ``waf``, cumulative.
    - Collected output of ``nvme fdp stats``, as text or as JSON (concatenated objects, one object per line,
      or an array). Other lines, such as dates, are ignored.

    Counters are cumulative. The first sample becomes the origin, unless it lies within two sample intervals
    of zero; the counters then started at zero. Samples without new host bytes are merged into
    the previous one.

    Parameters
    ----------
    path
        File to read.
    capacity
        Logical capacity of the drive in bytes; only for a column ``volume``.

    Raises
    ------
    ConfigError
        No such file, no known format, fewer than 10 samples, or counters that decrease; names
        the file and the line.
    """
    file = Path(path_of("path", path))
    text = read_text(file, "utf-8-sig")
    samples = _json(file, text) or _nvme_text(text) or _csv(file, text, capacity)
    return _curve(file, samples)


# Line number from 1, host bytes, media bytes.
_Sample = tuple[int, int, int]


def _csv(file: Path, text: str, capacity: int | None) -> list[_Sample]:
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if start is None:
        raise ConfigError(f"{file}: the file is empty")
    rows = csv.reader(lines[start:])
    header = [name.strip().lower() for name in next(rows)]

    def column(names: Sequence[str]) -> int:
        for name in names:
            if name in header:
                return header.index(name)
        raise ConfigError(
            f"{file}:{start + 1}: no column {' or '.join(names)}, and not output of `nvme fdp stats`"
        )

    relative = not set(_HOST) & set(header) and {"volume", "waf"} <= set(header)
    if relative and capacity is None:
        raise ConfigError(f"{file}:{start + 1}: columns volume and waf need the capacity of the drive")
    host, media = (
        (header.index("volume"), header.index("waf")) if relative else (column(_HOST), column(_MEDIA))
    )
    # A table of volumes omits the origin.
    samples: list[_Sample] = [(start + 1, 0, 0)] if relative else []
    for row in rows:
        line = start + rows.line_num
        if not row or row[0].startswith("#"):
            continue
        try:
            if relative:
                volume, waf = float(row[host]), float(row[media])
                written = round(volume * (capacity or 0))
                samples.append((line, written, round(written * waf)))
            else:
                samples.append((line, _number(row[host]), _number(row[media])))
        except (ValueError, OverflowError, IndexError):
            raise ConfigError(f"{file}:{line}: expected numbers in host and media bytes") from None
    return samples


def _number(text: str) -> int:
    text = text.strip()
    try:
        return int(text)
    except ValueError:
        value = float(text)
        if not np.isfinite(value):
            raise
        return int(value)


def _counter(value: float | str) -> int:
    """Returns a counter as nvme-cli writes it: decimal, with separators, or hexadecimal."""
    if isinstance(value, str):
        plain = value.strip().replace(",", "").replace("_", "")
        return int(plain, 16) if plain.lower().startswith("0x") else _number(plain)
    return int(value)


def _nvme_text(text: str) -> list[_Sample]:
    samples: list[_Sample] = []
    host: int | None = None
    for line, content in enumerate(text.splitlines(), start=1):
        match = _TEXT.search(content)
        if match is None:
            continue
        value = _counter(match[2])
        if match[1] == "HBMW":
            host = value
        elif host is not None:
            samples.append((line, host, value))
            host = None
    return samples


def _json(file: Path, text: str) -> list[_Sample]:
    decoder = json.JSONDecoder()
    samples: list[_Sample] = []
    at = text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except ValueError:
            at = text.find("{", at + 1)
            continue
        line = text.count("\n", 0, at) + 1
        try:
            samples.extend((line, host, media) for host, media in _pairs([found]))
        except (ValueError, OverflowError):
            raise ConfigError(f"{file}:{line}: expected numbers in host and media bytes") from None
        at = text.find("{", end)
    return samples


def _pairs(found: Iterable[object]) -> Iterable[tuple[int, int]]:
    for item in found:
        if isinstance(item, dict):
            keys = {str(key).lower(): value for key, value in item.items()}
            host = next((keys[k] for k in _HOST if k in keys), None)
            media = next((keys[k] for k in _MEDIA if k in keys), None)
            if isinstance(host, _NUMBER) and isinstance(media, _NUMBER):
                yield _counter(host), _counter(media)
            else:
                yield from _pairs(item.values())
        elif isinstance(item, list):
            yield from _pairs(item)


def _curve(file: Path, samples: list[_Sample]) -> Curve:
    host: list[int] = []
    media: list[int] = []
    for line, h, m in samples:
        if host and (h < host[-1] or m < media[-1]):
            raise ConfigError(f"{file}:{line}: counters decrease; expected one run without a reset")
        if host and h == host[-1] and len(host) > 1:
            media[-1] = m
        elif not host or h > host[-1]:
            host.append(h)
            media.append(m)
    if len(host) < 10:
        raise ConfigError(f"{file}: {len(host)} samples with new host bytes; at least 10 are needed")
    if 0 < host[0] <= 2 * (host[1] - host[0]):
        # The counters started at zero: what was written before the first sample belongs to the curve.
        host.insert(0, 0)
        media.insert(0, 0)
    return Curve(np.asarray(host, dtype=np.float64) - host[0], np.asarray(media, dtype=np.float64) - media[0])
