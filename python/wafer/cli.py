"""The ``wafer`` command that the wheel installs: the same program as the Rust binary."""

import signal
import sys

from wafer import _wafer


def main() -> int:
    """Runs the command line of this process and returns its exit status."""
    # The Rust side handles Ctrl-C, as in the binary: it stops the runs and removes partial output.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _wafer.main(["wafer", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
