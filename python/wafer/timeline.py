"""Counters over a run, of the drive and of each handle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Union

import numpy as np
import numpy.typing as npt

from wafer import _wafer, frames
from wafer._errors import ConfigError

if TYPE_CHECKING:
    import polars

__all__ = ["Handle", "Handles", "Timeline"]

#: ``"1x"`` (multiples of the logical capacity), a size such as ``"2GiB"``, or a number of multiples.
Volume = Union[str, float]


#: Maximum number of steps of :meth:`Timeline.waf_per`: more than any plot shows.
MOST_STEPS = 1_000_000


def volume_bytes(volume: Volume, capacity: int) -> float:
    """Returns the bytes of a volume on a device of ``capacity`` bytes.

    Parameters
    ----------
    volume
        ``"1x"``, a size, or a number of capacities.
    capacity
        Logical capacity, bytes.
    """
    if isinstance(volume, str) and volume.strip().lower() != "0x":
        return float(_wafer.volume_bytes(volume, capacity))
    multiples = 0.0 if isinstance(volume, str) else float(volume)
    if not 0 <= multiples < float("inf"):
        raise ConfigError(f"volume: {volume} is not a number of capacities")
    return multiples * capacity


class Timeline:
    """Counters at points evenly spaced in host bytes, cumulative since the first write.

    Parameters
    ----------
    host_bytes
        HBMW at each point, bytes.
    media_bytes
        MBMW at each point, bytes.
    capacity
        Logical capacity of the device, bytes; 0 if unknown.

    Attributes
    ----------
    host_bytes
        HBMW at each point, bytes (``uint64``).
    media_bytes
        MBMW at each point, bytes (``uint64``).
    capacity
        Logical capacity of the device, bytes.

    Raises
    ------
    ConfigError
        The two differ in length.

    Examples
    --------
    >>> import wafer
    >>> wafer.Timeline([100, 200, 300], [100, 300, 600], 100).waf
    array([1. , 1.5, 2. ])
    """

    def __init__(self, host_bytes: npt.ArrayLike, media_bytes: npt.ArrayLike, capacity: int) -> None:
        self.host_bytes: npt.NDArray[np.uint64] = np.ascontiguousarray(host_bytes, dtype=np.uint64)
        self.media_bytes: npt.NDArray[np.uint64] = np.ascontiguousarray(media_bytes, dtype=np.uint64)
        self.capacity = capacity
        if self.host_bytes.shape != self.media_bytes.shape or self.host_bytes.ndim != 1:
            raise ConfigError("media_bytes: expected as many as host_bytes")

    def __len__(self) -> int:
        return len(self.host_bytes)

    @property
    def volume(self) -> npt.NDArray[np.float64]:
        """Host bytes in multiples of the logical capacity; NaN if that is unknown."""
        return self.host_bytes / float(self.capacity or np.nan)

    @property
    def _written(self) -> tuple[npt.NDArray[np.float64], str]:
        """The horizontal axis of curves, and its name: the volume, or bytes if the capacity is unknown."""
        if self.capacity:
            return self.volume, "host bytes / logical capacity"
        return self.host_bytes / 1e9, "host bytes, GB"

    @property
    def waf(self) -> npt.NDArray[np.float64]:
        """Cumulative WAF at each point; 1 before the first write."""
        return _wafer.cumulative_waf(self.host_bytes, self.media_bytes)

    @property
    def instantaneous_waf(self) -> npt.NDArray[np.float64]:
        """WAF of each interval: media bytes over host bytes since the previous point.

        Not finite where an interval has media writes and no host writes; not a number where it has
        neither.
        """
        return _wafer.instantaneous_waf(self.host_bytes, self.media_bytes)

    def media_at(self, host_bytes: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Returns the media bytes at ``host_bytes``, interpolated linearly; NaN past the end.

        Parameters
        ----------
        host_bytes
            Host bytes since the first write.
        """
        host = np.concatenate(([0.0], self.host_bytes.astype(np.float64)))
        media = np.concatenate(([0.0], self.media_bytes.astype(np.float64)))
        return np.interp(np.asarray(host_bytes, dtype=np.float64), host, media, right=np.nan)

    def waf_at(self, volume: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Returns the cumulative WAF at multiples of the logical capacity; NaN at 0 and past the end.

        Parameters
        ----------
        volume
            Multiples of the logical capacity.
        """
        host = np.asarray(volume, dtype=np.float64) * self.capacity
        with np.errstate(invalid="ignore"):
            return self.media_at(host) / host

    def waf_between(self, start: Volume, end: Volume) -> float:
        """Returns the WAF of the host writes between two volumes.

        The two may be anywhere in the run: counters are interpolated between the points of the
        timeline. Single intervals of it (:attr:`instantaneous_waf`) vary with each collection.

        Parameters
        ----------
        start
            ``"1x"`` (multiples of the logical capacity), a size such as ``"2GiB"``, or a
            number of multiples.
        end
            The same; after ``start``.

        Raises
        ------
        ConfigError
            A volume is not one, ``end`` is not after ``start``, or lies past the end of the run.

        Examples
        --------
        >>> import wafer
        >>> wafer.Timeline([100, 200, 300], [100, 300, 600], 100).waf_between("1x", "3x")
        2.5
        """
        first, last = (volume_bytes(volume, self.capacity) for volume in (start, end))
        if not first < last:
            raise ConfigError(f"end: {end} is not after {start}")
        written = float(self.host_bytes[-1]) if len(self) else 0.0
        # The last point may lie a rounded block before the requested volume.
        if last > written * (1 + 1e-6):
            raise ConfigError(f"end: {end} is past the end of the run, {self._multiples(written)}")
        media = self.media_at([first, min(last, written)])
        return float((media[1] - media[0]) / (min(last, written) - first))

    def waf_per(self, volume: Volume) -> npt.NDArray[np.float64]:
        """Returns the WAF of each ``volume`` of host writes, one after another, without the remainder.

        Parameters
        ----------
        volume
            ``"1x"``, a size such as ``"2GiB"``, or a number of multiples of the logical capacity.

        Raises
        ------
        ConfigError
            It is not a volume, 0, more than the run has, or less than a millionth of that.

        Examples
        --------
        >>> import wafer
        >>> wafer.Timeline([100, 200, 300], [100, 300, 600], 100).waf_per("1x")
        array([1., 2., 3.])
        """
        step = volume_bytes(volume, self.capacity)
        if step <= 0:
            raise ConfigError(f"volume: {volume} must be above 0")
        written = float(self.host_bytes[-1]) if len(self) else 0.0
        if step > written * (1 + 1e-6):
            raise ConfigError(f"volume: {volume} is more than the run has, {self._multiples(written)}")
        if written / step > MOST_STEPS:
            raise ConfigError(f"volume: {volume} makes more than {MOST_STEPS:,} steps")
        at = np.arange(int(written * (1 + 1e-6) // step) + 1) * step
        host = np.minimum(at, written)
        return np.asarray(np.diff(self.media_at(host)) / np.diff(host), dtype=np.float64)

    def _multiples(self, written: float) -> str:
        return f"{written / self.capacity:.3g}x" if self.capacity else f"{written:.0f} bytes"

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars data frame with the columns host_bytes, media_bytes, volume, waf.

        Raises
        ------
        MissingExtra
            Polars is not installed.
        """
        waf = _wafer.cumulative_waf(self.host_bytes, self.media_bytes)
        table = {"host_bytes": self.host_bytes, "media_bytes": self.media_bytes, "volume": self.volume}
        frame: polars.DataFrame = frames.made({**table, "waf": waf}, "polars")
        return frame

    def __repr__(self) -> str:
        return f"<wafer.Timeline: {len(self)} points>"


class Handle(Timeline):
    """A reclaim unit handle over the run: what hosts wrote through it, and its media bytes.

    Media bytes are the host bytes in whole pages plus what GC moved *out of* RUs of the handle.

    Examples
    --------
    >>> import wafer
    >>> wafer.Handle([100, 200], [100, 300], 100).waf
    1.5
    """

    @property
    def total_host_bytes(self) -> int:
        """Host bytes at the end of the run."""
        return int(self.host_bytes[-1]) if len(self) else 0

    @property
    def total_media_bytes(self) -> int:
        """Media bytes at the end of the run."""
        return int(self.media_bytes[-1]) if len(self) else 0

    def total_waf(self) -> float:
        """Returns the WAF of the handle over the whole run; NaN if hosts wrote nothing through it."""
        return self.total_media_bytes / self.total_host_bytes if self.total_host_bytes else float("nan")

    # A handle has a single number here, unlike a timeline.
    @property
    def waf(self) -> float:  # type: ignore[override]
        """WAF of the handle over the whole run; :attr:`cumulative_waf` has it over time."""
        return self.total_waf()

    @property
    def cumulative_waf(self) -> npt.NDArray[np.float64]:
        """Cumulative WAF at each point."""
        return _wafer.cumulative_waf(self.host_bytes, self.media_bytes)

    def __repr__(self) -> str:
        return f"<wafer.Handle: WAF {self.waf:.3f}, {self.total_host_bytes} host bytes>"


class Handles(Mapping[int | str, Handle]):
    """Handles that were written, by number, and ``"gc"``: the open RU that GC fills for all II handles.

    Parameters
    ----------
    handles
        The handles by number, and ``"gc"``.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n")
    >>> result = wafer.run(device, job, volume="2x")
    >>> sorted(map(str, result.handles))
    ['0', 'gc']
    >>> result.handles[0].waf >= 1
    True
    """

    def __init__(self, handles: dict[int | str, Handle]) -> None:
        self._handles = handles

    def __getitem__(self, key: int | str) -> Handle:
        text = str(key)
        try:
            return self._handles[int(text) if text.isascii() and text.isdecimal() else key]
        except KeyError:
            known = ", ".join(map(str, self._handles))
            raise KeyError(f"handle {key} was not written; handles with writes: {known}") from None

    def __iter__(self) -> Iterator[int | str]:
        return iter(self._handles)

    def __len__(self) -> int:
        return len(self._handles)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key!r}: WAF {handle.waf:.3f}" for key, handle in self.items()) + "}"
