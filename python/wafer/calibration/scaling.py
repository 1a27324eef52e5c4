"""The same experiment on a smaller device.

WAF depends on the number of reclaim units and on how many *blocks* of the workload fit into one, not on
bytes. So a job of 128 KiB blocks on a drive of terabytes is run as one of single pages on a device with as
many pages as the drive has blocks, or fewer. What is lost is the fluctuation of a large reclaim unit being
smaller than that of a small one; :mod:`wafer.calibration.search` ends with a run at the full number.

Other workloads (traces, application models, arrays) are not scaled. Their commands are taken once and run on
the whole drive every time, with pages as large as all of them allow: a model of databases that writes blocks
of 64 KiB is run with pages of 64 KiB, a sixteenth of the work, and nothing is lost.
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
#: The largest page that a device can have, bytes.
LARGEST_PAGE = 65536

# Sizes of blocks, and of parts of the device, in fio's job files.
_BLOCK_KEYS = ("bs", "blocksize", "ba", "blockalign")
_REGION_KEYS = ("size", "io_size", "io_limit", "offset", "offset_increment", "filesize")
# Options that give blocks of several sizes: nothing is merged then.
_MIXED_KEYS = ("bsrange", "blocksize_range", "bssplit", "bs_unaligned", "blocksize_unaligned")
_LINE = re.compile(r"^(\s*)([A-Za-z_]+)(\s*=\s*)([^#;\n]*?)(\s*)$")


def _fio_size(text: str) -> int | None:
    """Bytes of a plain size as fio reads it (``128k`` is binary); ``None`` for anything else."""
    match = re.fullmatch(r"([0-9]+)\s*([kmgtp]?)(i?)(b?)", text.strip().lower())
    if match is None:
        return None
    power = "kmgtp".find(match[2]) + 1 if match[2] else 0
    return int(match[1]) * int(1024**power)


def _block_sizes(value: str) -> list[int] | None:
    """Block sizes of ``128k`` or ``4k,128k,``; ``None`` where they are not plain."""
    sizes = [_fio_size(part) for part in value.split(",") if part.strip()]
    return None if not sizes or None in sizes else [size for size in sizes if size is not None]


def block_bytes(text: str) -> int:
    """The unit in which all jobs of a file write and address, bytes: what a page of a model may be."""
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
    """A job file that can be had for any number of blocks."""

    text: str
    name: str
    capacity: int
    block: int
    #: Bytes of a page of the device that is run.
    page: int = PAGE

    @classmethod
    def of(cls, workload: Workload, capacity: int) -> ScaledJob:
        """Of a fio workload on a drive of so many bytes."""
        return cls(workload.text, workload.path, capacity, block_bytes(workload.text))

    @property
    def blocks(self) -> int:
        """Blocks of the whole drive."""
        return self.capacity // self.block

    def blocks_for(self, wanted: int, count: int) -> int:
        """Blocks for a run: at least 500 to a reclaim unit, not more than the drive has."""
        return min(max(wanted, 500 * count), self.blocks)

    def workload(self, blocks: int, seed: int = 1) -> Workload:
        """The job for a device of so many pages, one for a block."""
        del seed  # the run's own
        if blocks * PAGE == self.capacity and self.block == PAGE:
            return fio_text(self.text, name=self.name)
        ratio = blocks * PAGE / self.capacity

        def line(text: str) -> str:
            match = _LINE.match(text)
            if match is None:
                return text
            key, value = match[2].lower(), match[4]
            if key in _BLOCK_KEYS:
                sizes = _block_sizes(value)
                if sizes is not None and self.block > PAGE:
                    parts = value.split(",")
                    value = ",".join(
                        str(int(_fio_size(part) or 0) * PAGE // self.block) if part.strip() else ""
                        for part in parts
                    )
            elif key in _REGION_KEYS:
                size = _fio_size(value)
                if size is not None:
                    value = str(max(round(size * ratio / PAGE), 1) * PAGE)
            return f"{match[1]}{match[2]}{match[3]}{value}"

        return fio_text("\n".join(map(line, self.text.splitlines())) + "\n", name=self.name)


#: Commands that are kept in memory at most, 16 bytes each.
MOST_COMMANDS = 60_000_000
#: Workloads that draw from a seed are taken so many times: the drive's own is like any of them.
TIMES = 6


@dataclass(frozen=True)
class FixedWork:
    """A workload that is what it is: it runs on the whole drive."""

    whole: Workload
    capacity: int
    page: int = PAGE
    #: The same with other seeds.
    others: tuple[Workload, ...] = ()

    @property
    def blocks(self) -> int:
        """Pages of the whole drive."""
        return self.capacity // self.page

    def blocks_for(self, wanted: int, count: int) -> int:
        """All of them."""
        del wanted, count
        return self.blocks

    def workload(self, blocks: int, seed: int = 1) -> Workload:
        """The workload."""
        del blocks
        return (self.whole, *self.others)[seed % (1 + len(self.others))]

    @classmethod
    def of(
        cls, workload: Workload, capacity: int, host_bytes: float, seed: int, **known: object
    ) -> FixedWork:
        """What is written up to so many host bytes, with the largest page of which no command needs a part.

        The commands are kept in memory, so that what makes them is asked once. Where there are too many of
        them they are made for each run, and pages are of 4 KiB.
        """
        device = whole_device(capacity, known)
        drawn = workload.kind not in ("commands", "trace", "iterator")
        found: list[Workload] = []
        unit = 0
        for more in range(TIMES if drawn else 1):
            on = Experiment(device, workload, seed=seed + more)
            kept = on._inner.recorded(math.ceil(host_bytes), MOST_COMMANDS // (TIMES if drawn else 1))
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
    """A device of the whole drive, to ask a workload what it writes to it."""
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
    """Raise RunError where a workload ended before it had written so much."""
    if result.host_bytes < 0.999 * host_bytes - 2**20:
        ours, theirs = result.host_bytes / result.capacity, host_bytes / result.capacity
        raise RunError(
            f"the workload ends after {ours:.2f} drive writes, the curve goes to {theirs:.2f}; "
            "is it the one that was measured? Traces can be repeated"
        )


def capacity_of(capacity: str | int) -> int:
    """Bytes of a drive's logical capacity."""
    size = parse_size(capacity, "capacity")
    if size < 2**30:
        raise ConfigError(f"capacity: {capacity} is less than 1 GiB")
    return size
