"""Tests calibration on simulated curves of devices whose parameters it does not know.

    python python/benchmarks/blind.py [--only NAME] [--seed 77] [--drawn FIRST..LAST] [--write FILE.md]

The devices differ in capacity, reclaim units, over-provisioning, policy, thresholds and isolation. The
workloads are fio jobs, a model, a trace and arrays. The first half of each curve is fitted. `--drawn` selects
small random devices by number, and reports how many intervals hold.
"""

import argparse
import csv
import math
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tables import FIT_HEADS, fit_cells, markdown, publish

import wafer

RANDOM = "[w]\nrw=randwrite\nbs=128k\nsize=100%\ntime_based=1\nruntime=1d\n"
FREE = "[w]\nrw=randwrite\nbs=64k\nnorandommap=1\nsize=100%\ntime_based=1\nruntime=1d\n"
HOT = FREE.replace("norandommap", "random_distribution=zoned:80/20:20/80\nnorandommap")
#: A hot and a cold stream on separate handles.
TWO = """\
[global]
rw=randwrite
bs=64k
norandommap=1
time_based=1
runtime=1d
fdp=1
[hot]
size=20%
fdp_pli=0
[cold]
offset=20%
size=80%
fdp_pli=1
"""


@dataclass
class Hidden:
    """The device and workload behind a curve."""

    name: str
    capacity: str
    unit: str
    overprovisioning: float
    workload: object
    volume: str
    gc: dict = field(default_factory=dict)
    #: Keys of the device that the calibration is given.
    known: dict = field(default_factory=dict)
    #: Random seed of its run; default that of the command line.
    seed: int | None = None

    def device(self):
        """Returns the device; its GC thresholds differ from those that the calibration assumes."""
        return wafer.Device(
            "warp",
            capacity=self.capacity,
            reclaim_unit={"size": self.unit},
            overprovisioning=self.overprovisioning,
            gc={"background_free": 0.0, "forced_free": 0.004, **self.gc},
            **self.known,
        )


def pages(capacity, count, seed):
    """Returns the first pages of 64 KiB random writes, four fifths of them to a fifth of the drive."""
    rng = np.random.default_rng(seed)
    blocks = capacity // 65536
    hot = rng.random(count) < 0.8
    return np.where(hot, rng.integers(0, blocks // 5, count), rng.integers(blocks // 5, blocks, count)) * 16


def hidden(folder):
    """Returns the devices."""
    trace = folder / "trace.csv"
    # Columns of MSR Cambridge: time in units of 100 ns, host, disk, type, offset, size, response.
    rng = np.random.default_rng(4)
    size = 6 * 10**9
    with open(trace, "w", newline="") as file:
        out = csv.writer(file)
        for at, place in enumerate(pages(size, 800_000, rng.integers(1 << 30)) * 4096):
            out.writerow([128166372000000000 + at * 1000, "host", 0, "Write", place, 65536, 100])
    arrays = wafer.Commands(pages(16 * 10**9, 2_000_000, 9), 16, repeat=True)
    aerospike = wafer.model("aerospike", write_block="128KiB")
    fio = wafer.fio_text
    pi = {"isolation": "persistently"}
    return [
        Hidden("random map, greedy", "120GB", "96MiB", 0.17, fio(RANDOM), "12x"),
        Hidden("cost-benefit", "200GB", "256MiB", 0.09, fio(FREE), "8x", {"policy": "cost-benefit"}),
        Hidden("80/20, relocated with new", "64GB", "64MiB", 0.3, fio(HOT), "10x", {"destination": "host"}),
        Hidden("80/20, fifo", "96GB", "128MiB", 0.24, fio(HOT), "10x", {"policy": "fifo"}),
        Hidden("random map, reserve 2 %", "240GB", "64MiB", 0.12, fio(RANDOM), "10x", {"forced_free": 0.02}),
        Hidden("80/20, background GC", "80GB", "256MiB", 0.2, fio(HOT), "10x", {"background_free": 0.1}),
        Hidden("two handles, persistently", "48GB", "32MiB", 0.15, fio(TWO), "10x", known=pi),
        Hidden("model: aerospike", "16GiB", "16MiB", 0.14, aerospike, "6x"),
        Hidden("trace, 80/20", "6GB", "8MiB", 0.2, wafer.trace(trace, format="msr"), "8x"),
        Hidden("arrays, 80/20, d-choices", "16GB", "32MiB", 0.12, arrays, "8x", {"policy": "d-choices"}),
    ]


def drawn(number):
    """Returns the random device with a number; draws again if no such device is possible."""
    rng = random.Random(1000 + number)
    while True:
        gigabytes = rng.choice([16, 24, 32, 48, 64])
        units = math.exp(rng.uniform(math.log(80), math.log(1500)))
        size = max(4, round(gigabytes * 1e9 / units / 2**20))
        overprovisioning = round(rng.uniform(0.07, 0.35), 3)
        name = rng.choice(["RANDOM", "FREE", "HOT"])
        gc = {"forced_free": rng.choice([0.002, 0.004, 0.01])}
        if rng.random() < 0.5:
            gc["destination"] = "host"
        job = wafer.fio_text({"RANDOM": RANDOM, "FREE": FREE, "HOT": HOT}[name])
        label = f"{number}, {name.lower()}"
        case = Hidden(label, f"{gigabytes}GB", f"{size}MiB", overprovisioning, job, "8x", gc, seed=number)
        try:
            case.device()
        except wafer.ConfigError:
            continue
        return case


def truth_of(device):
    """Returns the true values of the calibrated parameters."""
    free = device.config["gc"]["forced_free"]
    reserve = max(int(free * device.ru_count), 1)
    unit = (1 + device.overprovisioning) / device.ru_count
    return {
        "overprovisioning": device.overprovisioning,
        "reclaim_unit_count": device.ru_count,
        "net_spare": device.overprovisioning - unit * (reserve + 8),
    }


def measure(case, path, seed):
    """Writes the curve of a hidden device and returns its true parameters."""
    device = case.device()
    result = wafer.run(device, case.workload, volume=case.volume, seed=seed, samples=2000)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["host_bytes", "media_bytes"])
        out.writerows(zip(result.timeline.host_bytes.tolist(), result.timeline.media_bytes.tolist()))
    return truth_of(device)


def numbers(text):
    """Parses FIRST..LAST."""
    first, last = map(int, text.split(".."))
    return range(first, last + 1)


def main():
    """Simulates each curve, calibrates it and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="only devices whose name contains this")
    parser.add_argument("--seed", type=int, default=77, help="random seed of the hidden runs")
    parser.add_argument("--drawn", type=numbers, help="devices drawn at random instead: FIRST..LAST")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    rows = []
    held = dict.fromkeys(["overprovisioning", "reclaim_unit_count", "net_spare"], 0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in map(drawn, arguments.drawn) if arguments.drawn else hidden(folder):
            if arguments.only and arguments.only not in case.name:
                continue
            seed = arguments.seed if case.seed is None else case.seed
            truth = measure(case, folder / "curve.csv", seed)
            fit = wafer.calibrate(
                folder / "curve.csv", case.capacity, case.workload, fraction=0.5, known=case.known
            )
            print(case.name, case.device(), truth, fit, f"{fit.seconds:.0f} s", "", sep="\n", flush=True)
            for parameter in held:
                held[parameter] += truth[parameter] in fit.intervals[parameter]
            rows.append([case.name, str(fit.structure), *fit_cells(fit, truth)])
    print(f"of {len(rows)} devices the intervals of so many hold: {held}\n")
    publish(markdown(["hidden device", "structure found", *FIT_HEADS], rows), arguments.write)


if __name__ == "__main__":
    main()
