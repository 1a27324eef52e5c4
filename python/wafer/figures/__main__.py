"""``python -m wafer.figures``: plots the figures of the studies."""

from __future__ import annotations

import argparse
import sys

from wafer._errors import WaferError
from wafer.figures import draw_all


def main() -> int:
    """Plots the figures and lists them; returns 0, or 2 for bad arguments or no figure at all."""
    parser = argparse.ArgumentParser(prog="python -m wafer.figures", description=__doc__)
    parser.add_argument("records", nargs="+", help="result records, reproduce.json, or folders of them")
    parser.add_argument("--out", default="figures", help="folder of the PDF and PNG files (default: figures)")
    arguments = parser.parse_args()
    try:
        drawn, missing = draw_all(arguments.records, arguments.out)
    except WaferError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name, files in drawn.items():
        print(f"{name}: {', '.join(map(str, files))}")
    if missing:
        print(f"no records for: {', '.join(missing)}", file=sys.stderr)
    if not drawn:
        print("error: no figure has records", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
