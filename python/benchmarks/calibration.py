"""How well the rest of a measured curve is predicted from its first third.

    python python/benchmarks/calibration.py CURVE.csv=CAPACITY ... [--write FILE.md]

The workload is 128 KiB random writes, one stream. Curves of the artifact of "Characterizing and Emulating
FDP SSDs with WARP" (FAST '26) have this form.
"""

import argparse
from pathlib import Path

import wafer


def main():
    """Calibrate each curve and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("curves", nargs="+", metavar="CURVE.csv=CAPACITY")
    parser.add_argument("--fraction", type=float, default=1 / 3)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    lines = [
        "| curve | drive writes fitted | over-provisioning | RUs | net spare | rms, fitted | largest, rest |"
        " simulations | seconds |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for given in arguments.curves:
        path, _, capacity = given.rpartition("=")
        fit = wafer.calibrate(path, capacity, fraction=arguments.fraction, progress=True)
        print(fit, "\n")
        bounds = fit.intervals
        spare, count, net = (bounds[k] for k in ("overprovisioning", "reclaim_unit_count", "net_spare"))
        lines.append(
            f"| {Path(path).stem} | {fit.fitted / fit.capacity:.1f} of "
            f"{fit.curve.host_bytes[-1] / fit.capacity:.1f}"
            f" | {spare.value:.3f} ({spare.low:.3f}-{spare.high:.3f})"
            f" | {count.value:.0f} ({count.low:.0f}-{count.high:.0f}) | {net.value:.4f}"
            f" ({net.low:.4f}-{net.high:.4f}) | {100 * fit.error:.2f} % | {100 * fit.prediction_error:.2f} %"
            f" | {fit.runs} | {fit.seconds:.0f} |"
        )
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.write:
        arguments.write.write_text(text)


if __name__ == "__main__":
    main()
