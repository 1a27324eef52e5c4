"""``python -m wafer``: the command line."""

import sys

from wafer.cli import main

sys.exit(main())
