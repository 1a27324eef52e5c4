"""The result of a run: the record of the command line, with arrays."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wafer import _html, _wafer, frames
from wafer._arguments import file as path_of
from wafer._arguments import instance, read_text
from wafer._colours import handle_colour
from wafer._errors import ConfigError
from wafer.latency import Latencies
from wafer.timeline import Handle, Handles, Timeline, Volume

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.axes import Axes

__all__ = ["Result", "write_text"]

SCHEMA = "wafer.result/1"


class Result:
    """One run: totals, counters over time, and everything needed to repeat it.

    Holds the result record, schema ``wafer.result/1``, exactly as the command line writes it.

    Parameters
    ----------
    text
        A result record, JSON.

    Raises
    ------
    ConfigError
        The text is not a record.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n")
    >>> result = wafer.run(device, job, volume="2x")
    >>> result.waf == result.media_bytes / result.host_bytes
    True
    >>> len(result.timeline) <= 1000
    True
    """

    def __init__(self, text: str) -> None:
        instance("text", text, str)
        try:
            record = json.loads(text)
        except ValueError as error:
            raise ConfigError(f"not a result record: {error}") from None
        if not isinstance(record, dict) or record.get("schema") != SCHEMA:
            raise ConfigError(f"not a result record: no schema {SCHEMA}")
        for part in ("name", "summary", "provenance", "timeline"):
            if part not in record:
                raise ConfigError(f"not a result record: no {part}")
        self._text = text
        #: The whole record as a dict.
        self.record: dict[str, Any] = record

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Result:
        """Reads a result record.

        Parameters
        ----------
        path
            File with one record.

        Returns
        -------
        Result
            The result.

        Raises
        ------
        ConfigError
            The file cannot be read, or is not a record.
        """
        name = path_of("path", path)
        text = read_text(name)
        try:
            return cls(text.removesuffix("\n"))
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Returns the record as JSON; also writes it to ``path`` if given, as a whole or not at all.

        Parameters
        ----------
        path
            File to write.

        Raises
        ------
        ConfigError
            ``path`` is a folder, or another place that is not a file.
        OSError
            The file cannot be written.
        """
        if path is not None:
            write_text(Path(path_of("path", path)), self._text + "\n")
        return self._text

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return str(self.record["name"])

    @property
    def summary(self) -> dict[str, Any]:
        """Totals: host_bytes, media_bytes, erased_bytes, waf and more; see the record's reference."""
        summary: dict[str, Any] = self.record["summary"]
        return summary

    @property
    def waf(self) -> float:
        """Media bytes over host bytes of the whole run."""
        return float(self.summary["waf"])

    @property
    def time(self) -> dict[str, Any] | None:
        """Bandwidth, latency, die utilization and energy as in the record; ``None`` without a clock."""
        return self.record.get("time")

    @cached_property
    def latency(self) -> Latencies:
        """Latency of reads and writes, of the run and of each job.

        Raises
        ------
        ConfigError
            The run had no clock.
        """
        if self.time is None:
            raise ConfigError("the run had no clock; run it with time=True")
        return Latencies(self.time)

    @property
    def host_bytes(self) -> int:
        """HBMW, bytes."""
        return int(self.summary["host_bytes"])

    @property
    def media_bytes(self) -> int:
        """MBMW, bytes."""
        return int(self.summary["media_bytes"])

    @property
    def config(self) -> dict[str, Any]:
        """The device with every key resolved.

        Raises
        ------
        ConfigError
            The record is that of a measured drive.
        """
        return self._simulated("config")

    @property
    def geometry(self) -> dict[str, Any]:
        """Sizes that follow from the configuration.

        Raises
        ------
        ConfigError
            The record is that of a measured drive.
        """
        return self._simulated("geometry")

    def _simulated(self, key: str) -> dict[str, Any]:
        value: dict[str, Any] | None = self.record["provenance"].get(key)
        if value is None:
            measured = self.record["provenance"].get("measured") is not None
            why = "; it is unknown for a measured drive" if measured else ""
            raise ConfigError(f"{self.name}: the record has no {key}{why}")
        return value

    @property
    def capacity(self) -> int:
        """Logical capacity, bytes; for a measured drive what it reports, or 0."""
        measured = self.record["provenance"].get("measured")
        if measured is not None:
            return int(measured.get("capacity_bytes") or 0)
        return int(self.geometry["logical_pages"]) * int(self.geometry["page_bytes"])

    @property
    def seed(self) -> int | None:
        """Random seed; ``None`` for a measured drive."""
        seed = self.record["provenance"].get("seed")
        return None if seed is None else int(seed)

    @property
    def digest(self) -> str:
        """Digest of the timeline, the same for the same configuration and seed; empty unless simulated."""
        return str(self.record.get("digest") or "")

    @property
    def application(self) -> dict[str, float]:
        """Figures that the application model counts, such as hit ratios, by name (``tenant/name``)."""
        figures = self.record.get("application", [])
        return {f"{f['tenant']}/{f['name']}".lstrip("/"): f["value"] for f in figures}

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Explanations of the WAF, each with ``kind``, numbers, ``title`` and ``text``."""
        findings: list[dict[str, Any]] = self._computed("findings")
        return findings

    @property
    def metrics(self) -> dict[str, Any]:
        """WAF over the run as the report page shows it; :attr:`timeline` has unrounded values."""
        metrics: dict[str, Any] = self._computed("metrics")
        return metrics

    def _computed(self, key: str) -> Any:
        """Returns a part that the reader must compute for brief records and those of version 0.1.0."""
        if key not in self.record:
            (text,) = _wafer.read_records("record", self._text)
            self.record[key] = json.loads(text)[key]
        return self.record[key]

    @cached_property
    def timeline(self) -> Timeline:
        """Counters of the device over the run."""
        timeline = self.record["timeline"]
        return Timeline(timeline["host_bytes"], timeline["media_bytes"], self.capacity)

    @cached_property
    def handles(self) -> Handles:
        """Counters of each handle that was written."""
        series = self.record["timeline"]["handles"]
        return Handles(
            {
                int(key) if key.isdecimal() else key: Handle(s["host_bytes"], s["media_bytes"], self.capacity)
                for key, s in series.items()
            }
        )

    def waf_between(self, start: Volume, end: Volume) -> float:
        """Returns the WAF between two volumes: :meth:`Timeline.waf_between`.

        Parameters
        ----------
        start
            First volume.
        end
            Last volume.

        Raises
        ------
        ConfigError
            As for the timeline.
        """
        return self.timeline.waf_between(start, end)

    def waf_per(self, volume: Volume) -> npt.NDArray[np.float64]:
        """Returns the WAF of each ``volume`` of host writes: :meth:`Timeline.waf_per`.

        Parameters
        ----------
        volume
            Step.

        Raises
        ------
        ConfigError
            As for the timeline.
        """
        return self.timeline.waf_per(volume)

    def plot(self, ax: Axes | None = None, *, handles: bool = False) -> Axes:
        """Plots cumulative WAF over volume, optionally by handle; needs the extra ``analysis``.

        Parameters
        ----------
        ax
            Axes to draw on. Default: new ones.
        handles
            Also plot the WAF of each handle.

        Returns
        -------
        Axes
            The axes.

        Raises
        ------
        MissingExtra
            Matplotlib is not installed.
        """
        from wafer.plot.curves import plot_result

        return plot_result(self, ax, handles=handles)

    def to_polars(self, by: str = "sample") -> polars.DataFrame:
        """Returns a tidy polars data frame of the run: :func:`wafer.frame`.

        Parameters
        ----------
        by
            ``"sample"``, ``"handle"`` or ``"run"``: what a row is.

        Raises
        ------
        MissingExtra
            Polars is not installed.
        """
        frame: polars.DataFrame = frames.made(frames.columns([self], by), "polars")
        return frame

    def to_pandas(self, by: str = "sample") -> pandas.DataFrame:
        """Returns a tidy pandas data frame of the run: :func:`wafer.frame`.

        Parameters
        ----------
        by
            ``"sample"``, ``"handle"`` or ``"run"``: what a row is.

        Raises
        ------
        MissingExtra
            Pandas is not installed.
        """
        frame: pandas.DataFrame = frames.made(frames.columns([self], by), "pandas")
        return frame

    def _repr_html_(self) -> str:
        if self._capacity_if_known() is None:
            return _html.page(self.name, _html.table({"WAF": self.waf, "capacity": "not in the record"}))
        written, name_of_written = self.timeline._written
        lines: list[_html.Line] = [("device", "currentColor", written, self.timeline.waf)]
        if len(self.handles) > 1:
            for key, handle in self.handles.items():
                if handle.total_host_bytes == 0:
                    continue
                # Gray is readable on both light and dark pages of notebooks.
                name, colour = ("GC", "gray") if key == "gc" else (f"handle {key}", handle_colour(key))
                lines.append((name, colour, written, handle.cumulative_waf))
        rows = {
            "WAF": self.waf,
            "host": f"{self.host_bytes / 1e9:.4g} GB"
            + (f", {self.host_bytes / self.capacity:.3g}x" if self.capacity else ""),
            "media": f"{self.media_bytes / 1e9:.4g} GB",
        }
        if self.seed is not None:
            rows["seed"] = self.seed
        chart = _html.chart(lines, name_of_written, "cumulative WAF")
        return _html.page(self.name, _html.table(rows), chart)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Result, (self._text,))

    def _capacity_if_known(self) -> int | None:
        try:
            return self.capacity
        except ConfigError:
            return None

    def __repr__(self) -> str:
        capacity = self._capacity_if_known()
        at = f"{self.host_bytes / capacity:.3g}x" if capacity else f"{self.host_bytes / 1e9:.4g} GB"
        return f"<wafer.Result {self.name}: WAF {self.waf:.4f} at {at}>"


def write_text(path: Path, text: str) -> None:
    """Writes a file completely or not at all, even across a crash; refuses devices that are not streams.

    Parameters
    ----------
    path
        The file.
    text
        Its contents.
    """
    _wafer.write_text(path, text)
