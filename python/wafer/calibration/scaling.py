"""Scaling: runs the same experiment on a smaller device.

WAF depends on the number of reclaim units and on the number of workload *blocks* in each, not on bytes. A job
of 128 KiB blocks on a drive of terabytes therefore runs as a job of single pages on a device with at most as
many pages as the drive has blocks. Fewer blocks make the fill of a reclaim unit fluctuate more, so
:mod:`wafer.calibration.search` ends with a run at the full number of blocks.

Other workloads (traces, application models, arrays) are not scaled. Their commands are recorded once and
replayed on the whole drive, with the largest page that every command is a multiple of. A database model that
writes blocks of 64 KiB runs with pages of 64 KiB: a sixteenth of the work, with the same result.

A small drive is not scaled either: where a reclaim unit holds a dozen blocks, a block takes several pages.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from math import gcd

from wafer._errors import ConfigError, RunError
from wafer._wafer import LBA_BYTES
from wafer.device import Device
from wafer.result import Result
from wafer.running import Experiment
from wafer.sizes import parse_size
from wafer.workload import Workload, fio_text

__all__ = ["PAGE", "FixedWork", "Job", "ScaledJob", "block_bytes"]

PAGE = 4096
#: Largest page of a device, bytes. Scaled devices use it, so that their reclaim units, of at least 1 MiB, may
#: have as few as 16 blocks.
LARGEST_PAGE = 65536
#: Number of blocks, or pages, below which a drive is small.
SMALL = 100_000

# fio options that hold block sizes, and sizes of regions of the device.
_BLOCK_KEYS = ("bs", "blocksize", "ba", "blockalign")
_REGION_KEYS = ("size", "io_size", "io_limit", "offset", "offset_increment", "filesize")
# Options that mix block sizes; the page then stays at 4 KiB.
_MIXED_KEYS = ("bsrange", "blocksize_range", "bssplit", "bs_unaligned", "blocksize_unaligned")
_LINE = re.compile(r"^(\s*)([A-Za-z_]+)(\s*=\s*)([^#;\n]*?)(\s*)$")


def _fio_size(text: str) -> int | None:
    """Parses a plain fio size into bytes (``128k`` is binary); returns ``None`` for anything else."""
    match = re.fullmatch(r"([0-9]+)\s*([kmgtp]?)(i?)(b?)", text.strip().lower())
    if match is None:
        return None
    power = "kmgtp".find(match[2]) + 1 if match[2] else 0
    return int(match[1]) * int(1024**power)


def _block_sizes(value: str) -> list[int] | None:
    """Parses ``128k`` or ``4k,128k,`` into bytes; returns ``None`` unless all sizes are plain."""
    sizes = [_fio_size(part) for part in value.split(",") if part.strip()]
    return None if not sizes or None in sizes else [size for size in sizes if size is not None]


def block_bytes(text: str) -> int:
    """Returns the largest unit in which all jobs of a file write and align, in bytes: a valid page size."""
    unit = 0
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        key, value = match[2].lower(), match[4]
        if key in _MIXED_KEYS:
            return PAGE
        if key in _BLOCK_KEYS:
            sizes = _block_sizes(value)
            if sizes is None:
                return PAGE
            for size in sizes:
                unit = gcd(unit, size)
    return max(unit, PAGE) if unit % PAGE == 0 and unit else PAGE


@dataclass(frozen=True)
class ScaledJob:
    """A job file that scales to any number of blocks; on a small drive, only the whole job."""

    text: str
    name: str
    #: Logical capacity of the drive, bytes.
    capacity: int
    #: Bytes of the job that a page of the simulated device represents: a block, or a part of one.
    block: int
    #: Page of the simulated device, bytes.
    page: int = PAGE
    #: Whether the drive is simulated as it is.
    whole: bool = False

    @classmethod
    def of(cls, workload: Workload, capacity: int) -> ScaledJob:
        """Returns the job of a fio workload on a drive of ``capacity`` bytes."""
        block = block_bytes(workload.text)
        if capacity // block >= SMALL:
            page = PAGE if block == PAGE else LARGEST_PAGE
            return cls(workload.text, workload.path, capacity, block, page)
        # The largest power of two that divides a block, or a part of it.
        page = min(block & -block, LARGEST_PAGE)
        while page > PAGE and capacity // page < SMALL:
            page //= 2
        return cls(workload.text, workload.path, capacity, page, page, whole=True)

    @property
    def blocks(self) -> int:
        """Number of blocks of the whole drive."""
        return self.capacity // self.block

    def blocks_for(self, wanted: int, count: int) -> int:
        """Returns the blocks of a run with ``count`` RUs: at least 500 per RU, at most those of the drive."""
        return self.blocks if self.whole else min(max(wanted, 500 * count), self.blocks)

    def workload(self, blocks: int, seed: int = 1) -> Workload:
        """Returns the job for a device of ``blocks`` pages, one per block."""
        del seed  # the run has its own
        page, block = self.page, self.block
        if blocks * page == self.capacity // page * page and block == page:
            return fio_text(self.text, name=self.name)
        ratio = blocks * page / self.capacity

        def line(text: str) -> str:
            match = _LINE.match(text)
            if match is None:
                return text
            key, value = match[2].lower(), match[4]
            if key in _BLOCK_KEYS:
                sizes = _block_sizes(value)
                if sizes is not None and block != page:
                    parts = value.split(",")
                    value = ",".join(
                        str(int(_fio_size(part) or 0) * page // block) if part.strip() else ""
                        for part in parts
                    )
            elif key in _REGION_KEYS:
                size = _fio_size(value)
                if size is not None:
                    value = str(max(round(size * ratio / page), 1) * page)
            return f"{match[1]}{match[2]}{match[3]}{value}"

        return fio_text("\n".join(map(line, self.text.splitlines())) + "\n", name=self.name)


#: Maximum number of recorded commands, 16 bytes each.
MOST_COMMANDS = 60_000_000
#: Number of recordings of a random workload, each with its own seed: the drive's seed is unknown.
RECORDINGS = 6


@dataclass(frozen=True)
class FixedWork:
    """A workload that cannot be scaled and runs on the whole drive."""

    whole: Workload
    capacity: int
    page: int = PAGE
    #: Recordings of the same workload with other seeds.
    others: tuple[Workload, ...] = ()

    @property
    def blocks(self) -> int:
        """Number of pages of the whole drive."""
        return self.capacity // self.page

    def blocks_for(self, wanted: int, count: int) -> int:
        """Returns all pages of the drive."""
        del wanted, count
        return self.blocks

    def workload(self, blocks: int, seed: int = 1) -> Workload:
        """Returns one of the recordings, by seed."""
        del blocks
        return (self.whole, *self.others)[seed % (1 + len(self.others))]

    @classmethod
    def of(
        cls, workload: Workload, capacity: int, host_bytes: float, seed: int, **known: object
    ) -> FixedWork:
        """Records a workload up to ``host_bytes``, with the largest page that every command is a multiple of.

        The commands stay in memory, so that they are generated only once. If there are too many, every run
        generates them again and pages are 4 KiB.
        """
        device = whole_device(capacity, known)
        drawn = workload.kind not in ("commands", "trace", "iterator")
        found: list[Workload] = []
        unit = 0
        recordings = RECORDINGS if drawn else 1
        for more in range(recordings):
            on = Experiment(device, workload, seed=seed + more)
            kept = on._inner.recorded(math.ceil(host_bytes), MOST_COMMANDS // recordings)
            if kept is None:
                return cls(workload, capacity)
            inner, blocks = kept
            unit = gcd(unit, blocks)
            found.append(Workload(inner))
        page = min(max(unit * LBA_BYTES, PAGE), LARGEST_PAGE)
        while capacity % page and page > PAGE:
            page //= 2
        return cls(found[0], capacity, page, tuple(found[1:]))


Job = ScaledJob | FixedWork


def whole_device(capacity: int, known: dict[str, object]) -> Device:
    """Returns a stand-in for the whole drive, with which a workload is recorded."""
    unit = max(capacity // PAGE // 500, 2**20 // PAGE)
    config = {
        "capacity": f"{capacity // PAGE * PAGE}B",
        "handles": 8,
        "isolation": "initially",
        "reclaim_unit": {"size": f"{unit * PAGE}B"},
        "overprovisioning": 1.0,
    }
    return Device.from_dict({**config, **known}, name="drive")


def covers(result: Result, host_bytes: float) -> None:
    """Raises RunError if a workload ended before it had written ``host_bytes``."""
    if result.host_bytes < 0.999 * host_bytes - 2**20:
        ours, theirs = result.host_bytes / result.capacity, host_bytes / result.capacity
        raise RunError(
            f"the workload ends after {ours:.2f} drive writes, the curve after {theirs:.2f}; "
            "check that it is the measured workload (a trace can be repeated)"
        )


def capacity_of(capacity: str | int) -> int:
    """Parses the logical capacity of a drive, at least 1 GiB, into bytes."""
    size = parse_size(capacity, "capacity")
    if size < 2**30:
        raise ConfigError(f"capacity: {capacity} is below the minimum of 1 GiB")
    return size
