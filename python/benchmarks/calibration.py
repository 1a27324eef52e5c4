"""How well the rest of a measured curve is predicted from its first third.

    python python/benchmarks/calibration.py CURVE.csv=CAPACITY ... [--write FILE.md]

The workload is 128 KiB random writes, one stream. Curves of the artifact of "Characterizing and Emulating
FDP SSDs with WARP" (FAST '26) have this form.
"""

import argparse
from pathlib import Path

from tables import FOUND, found, markdown, tell

import wafer


def main():
    """Calibrate each curve and tell."""
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
        rows.append([Path(path).stem, written, *found(fit)])
    tell(markdown(["curve", "drive writes fitted", *FOUND], rows), arguments.write)


if __name__ == "__main__":
    main()
