"""Keys of a device as keyword arguments.

Written by `cargo xtask docs` from the types that read device files. Do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

__all__ = ["DOTTED", "TABLES", "DeviceKeys"]


class DeviceKeys(TypedDict, total=False):
    """Keyword arguments of :class:`wafer.Device`: ``_`` stands for the ``.`` of the dotted key."""

    capacity: str | int
    """Logical capacity, 1 GiB to 64 TiB (smaller is allowed down to a few reclaim units, for tests). Rounded
    down to whole pages.
    """
    page: str | int
    """Mapping unit: 4, 8, 16, 32 or 64 KiB."""
    reclaim_unit_size: str | int
    """Size of a reclaim unit, 1 MiB to 64 GiB, a multiple of the page."""
    reclaim_unit_count: int
    """Number of physical reclaim units in all groups. Give this or ``overprovisioning``, not both."""
    overprovisioning: float
    """(physical - logical) / logical capacity. The number of reclaim units becomes ``floor(capacity * (1 +
    overprovisioning) / reclaim_unit.size)``. Give this or ``reclaim_unit.count``, not both.
    """
    handles: int
    """Number of reclaim unit handles, 1 to 128."""
    groups: int
    """Number of reclaim groups, 1 to 256."""
    isolation: Literal["initially", "persistently"]
    """Isolation type of every handle that ``handle_isolation`` does not name."""
    fdp: bool
    """Enables Flexible Data Placement. If false, the device is conventional: it has one stream and ignores
    placement identifiers.
    """
    gc_policy: str
    """Victim selection policy."""
    gc_choices: int
    """Number of reclaim units that the d-choices policy compares, 1 to 10000."""
    gc_window: float
    """Share of the closed reclaim units, oldest first, from which the windowed-greedy policy chooses: above 0,
    up to 1.
    """
    gc_background_free: float
    """Background GC runs while free reclaim units are at most this share of all, rounded down; 0 switches it
    off. The default is that of WARP's emulator.
    """
    gc_background_max_valid: float
    """Background GC collects its victim only if at most this share of it is valid ("lazy"). The default is
    that of WARP's emulator.
    """
    gc_forced_free: float
    """Forced GC runs while free reclaim units are at most this share of all, rounded down, and always while
    fewer than two are free. The default is that of WARP's emulator.
    """
    gc_separate: bool
    """With ``fdp = false``: whether relocated data goes to an open reclaim unit of its own (true) or into the
    one that the host writes (false).
    """
    gc_destination: Literal["isolation", "host", "shared", "handle", "generation", "writer"]
    """Open reclaim unit that takes relocated data. Default: the policy's choice, which is "isolation" for all
    but ``adaptive``.
    """
    gc_generations: int
    """With ``gc.destination = "generation"``: number of generations of relocated data that get reclaim units
    of their own, 1 to 8. Data moved more often joins the last generation.
    """
    gc_separation: Literal["sepbit", "midas", "multilog", "deathtime"]
    """Separation of data by lifetime within each handle, without hints from the host, for written and
    relocated data alike. It excludes ``gc.destination``. Default: none, except for ``adaptive``, which
    chooses "deathtime" if there is no ``gc.destination`` and enough space.
    """
    gc_order: Literal["written", "spread"]
    """Which of a victim's pages fill the open reclaim unit if not all of them fit."""
    namespaces: Sequence[Mapping[str, Any]]
    """Namespaces in order of NSID, from 1. Default: one namespace of the whole capacity with a placement
    handle for each reclaim unit handle.
    """
    service_submit_us: float
    """Host time to submit and complete a command, in microseconds, serial within a job: 0.001 to 1000000.
    """
    service_latency_us: float
    """Time of a command without its data transfer, in microseconds: 0.001 to 1000000."""
    service_bandwidth: str | int
    """Data rate of a command's transfer, in bytes per second: 1kB to 1PB."""
    reclaim_unit: Mapping[str, Any]
    """Keys of the table ``reclaim_unit``."""
    handle_isolation: Mapping[str, Any]
    """Keys of the table ``handle_isolation``."""
    gc: Mapping[str, Any]
    """Keys of the table ``gc``."""
    service: Mapping[str, Any]
    """Keys of the table ``service``."""


#: Keyword arguments whose dotted key is spelled differently.
DOTTED: dict[str, str] = {
    "reclaim_unit_size": "reclaim_unit.size",
    "reclaim_unit_count": "reclaim_unit.count",
    "gc_policy": "gc.policy",
    "gc_choices": "gc.choices",
    "gc_window": "gc.window",
    "gc_background_free": "gc.background_free",
    "gc_background_max_valid": "gc.background_max_valid",
    "gc_forced_free": "gc.forced_free",
    "gc_separate": "gc.separate",
    "gc_destination": "gc.destination",
    "gc_generations": "gc.generations",
    "gc_separation": "gc.separation",
    "gc_order": "gc.order",
    "service_submit_us": "service.submit_us",
    "service_latency_us": "service.latency_us",
    "service_bandwidth": "service.bandwidth",
}

#: Tables of a device file.
TABLES: tuple[str, ...] = ("reclaim_unit", "handle_isolation", "gc", "service",)
