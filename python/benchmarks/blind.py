"""Are hidden devices found? Curves come from `wafer run` with parameters that the calibration is not told.

    python python/benchmarks/blind.py [--write FILE.md]

Three jobs and devices of other sizes, reclaim units, over-provisioning and policies, and three workloads that
are no fio jobs: a model, a trace and arrays.
"""

import argparse
import csv
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import wafer

RANDOM = "[w]\nrw=randwrite\nbs=128k\nsize=100%\ntime_based=1\nruntime=1d\n"
FREE = "[w]\nrw=randwrite\nbs=64k\nnorandommap=1\nsize=100%\ntime_based=1\nruntime=1d\n"
HOT = FREE.replace("norandommap", "random_distribution=zoned:80/20:20/80\nnorandommap")


@dataclass
class Hidden:
    """A device that a curve comes from, and its workload."""

    name: str
    capacity: str
    unit: str
    overprovisioning: float
    workload: object
    volume: str
    gc: dict = field(default_factory=dict)
    precondition: str = "fresh"


def pages(capacity, count, seed):
    """Random writes of 64 KiB, four fifths of them to a fifth of the drive."""
    rng = np.random.default_rng(seed)
    blocks = capacity // 65536
    hot = rng.random(count) < 0.8
    return np.where(hot, rng.integers(0, blocks // 5, count), rng.integers(blocks // 5, blocks, count)) * 16


def hidden(folder):
    """The devices."""
    trace = folder / "trace.csv"
    # MSR Cambridge's columns: time in units of 100 ns, host, disk, type, offset, size, response.
    rng = np.random.default_rng(4)
    size = 6 * 10**9
    with open(trace, "w", newline="") as file:
        out = csv.writer(file)
        for at, place in enumerate(pages(size, 800_000, rng.integers(1 << 30)) * 4096):
            out.writerow([128166372000000000 + at * 1000, "host", 0, "Write", place, 65536, 100])
    arrays = wafer.Commands(pages(16 * 10**9, 2_000_000, 9), 16, repeat=True)
    return [
        Hidden("random map, greedy", "120GB", "96MiB", 0.17, wafer.fio_text(RANDOM), "12x"),
        Hidden(
            "independent, cost-benefit",
            "200GB",
            "256MiB",
            0.09,
            wafer.fio_text(FREE),
            "8x",
            {"policy": "cost-benefit"},
        ),
        Hidden(
            "80/20, greedy, relocated data with new",
            "64GB",
            "64MiB",
            0.3,
            wafer.fio_text(HOT),
            "10x",
            {"destination": "host"},
        ),
        Hidden("80/20, fifo", "96GB", "128MiB", 0.24, wafer.fio_text(HOT), "10x", {"policy": "fifo"}),
        Hidden(
            "model: aerospike", "16GiB", "16MiB", 0.14, wafer.model("aerospike", write_block="128KiB"), "6x"
        ),
        Hidden("trace, 80/20, 64 KiB", "6GB", "8MiB", 0.2, wafer.trace(trace, format="msr"), "8x"),
        Hidden("arrays, 80/20, 64 KiB", "16GB", "32MiB", 0.12, arrays, "8x", {"policy": "d-choices"}),
    ]


def main():
    """Make each curve, calibrate, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="part of a name")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    lines = [
        "| curve | structure | OP | found | RUs | found | net spare | found | rms | rest | s |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in hidden(folder):
            if arguments.only and arguments.only not in case.name:
                continue
            device = wafer.Device(
                "warp",
                capacity=case.capacity,
                reclaim_unit={"size": case.unit},
                overprovisioning=case.overprovisioning,
                gc={"background_free": 0.0, "forced_free": 0.004, **case.gc},
            )
            truth = wafer.run(device, case.workload, volume=case.volume, seed=77, samples=2000)
            curve = folder / "curve.csv"
            with open(curve, "w", newline="") as file:
                out = csv.writer(file)
                out.writerow(["host_bytes", "media_bytes"])
                out.writerows(zip(truth.timeline.host_bytes.tolist(), truth.timeline.media_bytes.tolist()))
            fit = wafer.calibrate(curve, case.capacity, case.workload, fraction=0.5, progress=True)
            print(case.name, device, fit, f"{fit.seconds:.0f} s", "", sep="\n", flush=True)
            reserve = max(int(0.004 * device.ru_count), 1)
            net = device.overprovisioning - (1 + device.overprovisioning) / device.ru_count * (reserve + 8)
            bounds = fit.intervals
            op, count, spare = (bounds[k] for k in ("overprovisioning", "reclaim_unit_count", "net_spare"))
            lines.append(
                f"| {case.name} | {fit.structure} | {device.overprovisioning:.3f}"
                f" | {op.value:.3f} ({op.low:.3f}-{op.high:.3f}) | {device.ru_count}"
                f" | {count.value:.0f} ({count.low:.0f}-{count.high:.0f}) | {net:.4f}"
                f" | {spare.value:.4f} ({spare.low:.4f}-{spare.high:.4f}) | {100 * fit.error:.2f} %"
                f" | {100 * (fit.prediction_error or 0):.2f} % | {fit.seconds:.0f} |"
            )
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.write:
        arguments.write.write_text(text)


if __name__ == "__main__":
    main()
