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
    """(physical - logical) / logical capacity. The number of reclaim units is ``floor(capacity * (1 +
    overprovisioning) / reclaim_unit.size)``. Give this or ``reclaim_unit.count``, not both.
    """
    handles: int
    """Number of reclaim unit handles, 1 to 128."""
    groups: int
    """Number of reclaim groups, 1 to 256."""
    isolation: Literal["initially", "persistently"]
    """Isolation type of every handle that ``handle_isolation`` does not name."""
    fdp: bool
    """Enables Flexible Data Placement. If false, the device is conventional: it has one handle, to which all
    placement identifiers map, and one more for each of its ``streams``.
    """
    streams: int
    """With ``fdp = false``: number of streams that can be open at once, 0 to 127. Stream *n* is handle *n* of
    every namespace; writes without a stream go to handle 0.
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
    """Background GC collects its victim only if at most this share of it is valid ("lazy"), and never a full
    one. The default is that of WARP's emulator.
    """
    gc_forced_free: float
    """Forced GC runs while free reclaim units are at most this share of all, rounded down, and always while
    fewer than two are free. The default is that of WARP's emulator.
    """
    gc_separate: bool
    """With ``fdp = false``: whether relocated data goes to a separate open reclaim unit (true) or to the one
    that the host writes (false).
    """
    gc_destination: Literal["isolation", "host", "shared", "handle", "generation", "writer"]
    """Open reclaim unit that receives relocated data. Default: the policy's choice, which is "isolation"
    except for ``gittins`` and ``midas``, which choose "generation", and ``adaptive``, which changes it.
    """
    gc_generations: int
    """With ``gc.destination = "generation"``: number of generations of relocated data that get separate
    reclaim units, 1 to 8. Data moved more often joins the last generation.
    """
    gc_separation: Literal["sepbit", "midas", "multilog", "dac", "warcip", "autostream", "fadac", "deathtime"]
    """Separation of data by lifetime within each handle, without hints from the host, for written and
    relocated data alike. Excludes ``gc.destination``. Default: none, except that without ``gc.destination``
    and with enough space ``gittins`` chooses "deathtime" and ``midas`` "midas"; ``adaptive`` changes it.
    """
    gc_order: Literal["written", "spread"]
    """Which of a victim's pages fill the open reclaim unit if not all of them fit."""
    firmware_write_buffer: str | int
    """Memory that buffers written pages, at most the logical capacity; 0: none. A page that is rewritten while
    it waits, in whole or in part, is programmed once. When the buffer is full, the page that has waited
    longest is programmed. Flush does not empty it: the buffer survives a power loss.
    """
    firmware_slc_cache: str | int
    """Single-level-cell (SLC) region outside the reclaim units that takes all host writes first, at most the
    logical capacity; 0: none. When it is full, its oldest page is folded: written to the reclaim unit of
    its handle, unless it was overwritten in the meantime. The SLC programs count as media bytes.
    """
    firmware_parity: int
    """Data pages per parity page within a reclaim unit (RAIN n+1), 1 to 1024; 0: no parity. Parity takes space
    outside the reclaim units and is written when a stripe or its reclaim unit is closed.
    """
    firmware_wear_difference: int
    """Static wear levelling: maximum difference between the erases of any reclaim unit and those of the least
    erased closed one, 1 to 2^30; 0: off. Beyond it, the data of the latter is moved.
    """
    firmware_refresh_after: float
    """Refresh: device writes after which the data of a closed reclaim unit is moved, above 0, at most 1000000;
    0: never.
    """
    firmware_reads_before_move: int
    """Read disturb: pages read from a reclaim unit since its erase after which its data is moved, 1 to 2^30;
    0: no limit.
    """
    firmware_open_limit: float
    """Reclaim unit time limit: device writes after which an open reclaim unit is closed even if it is not
    full, above 0, at most 1000000; 0: never. The drive does not count seconds, so this stands in for ERUTL.
    """
    firmware_retire_after: int
    """Retirement: erases after which a reclaim unit is retired, 1 to 2^30; 0: never. Reclaim units differ:
    each has its own limit within a tenth of this, derived from its number. Once no further unit can be
    spared, the drive is read-only.
    """
    firmware_mapping_cache: str | int
    """Memory for the map, up to the size of the map; 0: the whole map, protected against power loss. With
    less, the map is in translation pages of one flash page each (DFTL). The most recently used pages are in
    memory; a modified page is programmed when evicted, outside the reclaim units, and counts as media
    bytes.
    """
    firmware_mapping_entries: int
    """Entries per translation page, 1 to 2^20; 0: as many 4-byte entries as a page holds. A compressed map has
    more, one with larger entries fewer.
    """
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
    timing_dies: int
    """Number of NAND dies. A reclaim unit is striped over all of them, or over those of its reclaim group.
    """
    timing_planes: int
    """Planes that a die programs and erases together. It also reads them together, or independently with
    ``independent_planes``.
    """
    timing_independent_planes: bool
    """Whether the planes of a die read different pages for hosts at the same time, as much 3D flash does
    (asynchronous independent plane read, AIPR). A read takes the first free plane. Default: false.
    """
    timing_plane_page: str | int
    """Page size of one plane."""
    timing_cell_bits: int
    """Bits per cell: the number of pages that one program writes to every plane, 3 for TLC."""
    timing_read_us: str
    """Time to read a page from the cells (tR), by page type; a single number applies to every type."""
    timing_program_us: float
    """Time of a one-shot program of all planes."""
    timing_slc_program_us: float
    """Time to program one page of every plane in the SLC cache (``firmware.slc_cache``), one bit per cell.
    """
    timing_slc_read_us: float
    """Time to read a page of the SLC cache from the cells."""
    timing_erase_us: float
    """Time to erase a block of all planes."""
    timing_block: str | int
    """Size of a block over all planes, which is the unit of an erase."""
    timing_slice_us: float
    """Time after which a program yields to a waiting read. 0: never."""
    timing_erase_slice_us: float
    """Time after which an erase yields to a waiting read. 0: never."""
    timing_missed_slices: float
    """Share of slice boundaries at which a program or erase does not yield."""
    timing_resume_us: float
    """Time that a program or erase loses when it yields."""
    timing_channels: int
    """Number of channels; dies are distributed evenly over them."""
    timing_channel_rate: str | int
    """Rate of one channel."""
    timing_link_read: str | int
    """Rate of the link from the drive to the host."""
    timing_link_write: str | int
    """Rate of the link from the host to the drive."""
    timing_read_overhead_us: float
    """Time of a read in controller and driver, excluding waiting, media and transfers."""
    timing_write_overhead_us: float
    """Time of a write in controller and driver, excluding waiting and transfers."""
    timing_read_iops: float
    """Maximum read commands per second."""
    timing_write_iops: float
    """Maximum write commands per second."""
    timing_command_slots: int
    """Maximum number of commands that the controller processes at once. The others wait in the submission
    queues, so reads wait behind writes that a full buffer or garbage collection holds up. Default: no
    limit.
    """
    timing_arbitration_burst: int
    """Maximum number of waiting commands that the controller takes from a submission queue before it turns to
    the next (round robin arbitration, NVMe Base 2.2, 3.4.4.1). Every thread of a fio job, tenant or
    connection of a host has a queue of its own. Default: the controller takes commands in the order in
    which hosts submitted them.
    """
    timing_write_buffer: str | int
    """Size of the write buffer. A write completes when its data is in the buffer."""
    timing_buffer_protected: bool
    """Whether the buffer survives a power loss, so that flush and FUA cost nothing."""
    timing_gc_pacing: Literal["smooth", "burst"]
    """How garbage collection is spread over time."""
    timing_gc_burst: str | int
    """With ``gc_pacing = "burst"``: bytes that garbage collection moves at a time."""
    timing_gc_buffered: bool
    """Whether relocated data occupies the write buffer until it is programmed, so that hosts wait during a
    burst larger than the space left.
    """
    timing_gc_credit: str | int
    """Bytes that hosts may write ahead of garbage collection while it has work. Beyond that, each write waits
    until the dies have had time for it and its share of relocation. Default: only the write buffer limits
    hosts.
    """
    timing_gc_knee: float
    """``gc_credit`` applies from this share of the rate at which dies keep up with hosts and relocation. Below
    it, garbage collection is ahead.
    """
    timing_gc_host_rate: str | int
    """Maximum host write rate, in bytes per second, while garbage collection moves at least one page for every
    50 that hosts write.
    """
    timing_metadata: float
    """Bytes of metadata programmed for each byte of the pages that the host writes."""
    timing_power_idle_w: float
    """Idle power, watts."""
    timing_power_die_w: float
    """Power of a die while it reads, programs or erases, watts."""
    timing_power_channel_pj: float
    """Energy per byte on a channel, picojoules."""
    timing_power_link_pj: float
    """Energy per byte on the link, picojoules."""
    endurance_pe_cycles: int
    """Program/erase cycles that the blocks are rated for, 1 to 1000000. A device without this table is rated
    for one drive write per day over five years.
    """
    reclaim_unit: Mapping[str, Any]
    """Keys of the table ``reclaim_unit``."""
    handle_isolation: Mapping[str, Any]
    """Keys of the table ``handle_isolation``."""
    gc: Mapping[str, Any]
    """Keys of the table ``gc``."""
    firmware: Mapping[str, Any]
    """Keys of the table ``firmware``."""
    service: Mapping[str, Any]
    """Keys of the table ``service``."""
    timing: Mapping[str, Any]
    """Keys of the table ``timing``."""
    timing_power: Mapping[str, Any]
    """Keys of the table ``timing.power``."""
    endurance: Mapping[str, Any]
    """Keys of the table ``endurance``."""


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
    "firmware_write_buffer": "firmware.write_buffer",
    "firmware_slc_cache": "firmware.slc_cache",
    "firmware_parity": "firmware.parity",
    "firmware_wear_difference": "firmware.wear_difference",
    "firmware_refresh_after": "firmware.refresh_after",
    "firmware_reads_before_move": "firmware.reads_before_move",
    "firmware_open_limit": "firmware.open_limit",
    "firmware_retire_after": "firmware.retire_after",
    "firmware_mapping_cache": "firmware.mapping_cache",
    "firmware_mapping_entries": "firmware.mapping_entries",
    "service_submit_us": "service.submit_us",
    "service_latency_us": "service.latency_us",
    "service_bandwidth": "service.bandwidth",
    "timing_dies": "timing.dies",
    "timing_planes": "timing.planes",
    "timing_independent_planes": "timing.independent_planes",
    "timing_plane_page": "timing.plane_page",
    "timing_cell_bits": "timing.cell_bits",
    "timing_read_us": "timing.read_us",
    "timing_program_us": "timing.program_us",
    "timing_slc_program_us": "timing.slc_program_us",
    "timing_slc_read_us": "timing.slc_read_us",
    "timing_erase_us": "timing.erase_us",
    "timing_block": "timing.block",
    "timing_slice_us": "timing.slice_us",
    "timing_erase_slice_us": "timing.erase_slice_us",
    "timing_missed_slices": "timing.missed_slices",
    "timing_resume_us": "timing.resume_us",
    "timing_channels": "timing.channels",
    "timing_channel_rate": "timing.channel_rate",
    "timing_link_read": "timing.link_read",
    "timing_link_write": "timing.link_write",
    "timing_read_overhead_us": "timing.read_overhead_us",
    "timing_write_overhead_us": "timing.write_overhead_us",
    "timing_read_iops": "timing.read_iops",
    "timing_write_iops": "timing.write_iops",
    "timing_command_slots": "timing.command_slots",
    "timing_arbitration_burst": "timing.arbitration_burst",
    "timing_write_buffer": "timing.write_buffer",
    "timing_buffer_protected": "timing.buffer_protected",
    "timing_gc_pacing": "timing.gc_pacing",
    "timing_gc_burst": "timing.gc_burst",
    "timing_gc_buffered": "timing.gc_buffered",
    "timing_gc_credit": "timing.gc_credit",
    "timing_gc_knee": "timing.gc_knee",
    "timing_gc_host_rate": "timing.gc_host_rate",
    "timing_metadata": "timing.metadata",
    "timing_power_idle_w": "timing.power.idle_w",
    "timing_power_die_w": "timing.power.die_w",
    "timing_power_channel_pj": "timing.power.channel_pj",
    "timing_power_link_pj": "timing.power.link_pj",
    "endurance_pe_cycles": "endurance.pe_cycles",
    "timing_power": "timing.power",
}

#: Tables of a device file.
TABLES: tuple[str, ...] = ("reclaim_unit", "handle_isolation", "gc", "firmware", "service", "timing", "timing.power", "endurance",)
