"""Measures how well the first third of a measured curve predicts the rest.

    python python/benchmarks/calibration.py CURVE.csv=CAPACITY ... [--write FILE.md]

The workload is one stream of 128 KiB random writes. The curves of the artifact of "Characterizing and
Emulating FDP SSDs with WARP" (FAST '26) have this format.
"""

import argparse
from pathlib import Path

from tables import FIT_HEADS, fit_cells, markdown, publish

import wafer


def main():
    """Calibrates each curve and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("curves", nargs="+", metavar="CURVE.csv=CAPACITY")
    parser.add_argument("--fraction", type=float, default=1 / 3)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    rows = []
    for given in arguments.curves:
        path, _, capacity = given.rpartition("=")
        fit = wafer.calibrate(path, capacity, fraction=arguments.fraction, progress=True)
        print(fit, "\n")
        written = f"{fit.fitted / fit.capacity:.1f} of {fit.curve.host_bytes[-1] / fit.capacity:.1f}"
        rows.append([Path(path).stem, written, *fit_cells(fit)])
    publish(markdown(["curve", "drive writes fitted", *FIT_HEADS], rows), arguments.write)


if __name__ == "__main__":
    main()
