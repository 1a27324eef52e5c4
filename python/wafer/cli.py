"""The ``wafer`` command of the wheel: the same program as the Rust binary."""

import signal
import sys

from wafer import _wafer


def main() -> int:
    """Run the command line of this process and answer its exit status."""
    # Ctrl-C belongs to the program, as in the binary: it stops the runs and removes what is half
    # written.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A reader that closes its end early ends the program quietly, as in the binary.
    return _wafer.main(["wafer", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
