"""Small devices and jobs whose runs take milliseconds."""

import json
import os
import signal
import sys
from pathlib import Path

import jsonschema
import pytest

import wafer

ROOT = Path(__file__).parents[2]

# Finds the `wafer` command of this environment, activated or not.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
# Tests keep no drives in the user's folder.
os.environ["WAFER_CACHE"] = "off"
# Background jobs of a shell ignore SIGINT, and programs that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

RANDOM_JOB = "[writer]\nrw=randwrite\nbs=4k\nsize=100%\nnorandommap=1\ntime_based=1\nruntime=1d\n"

TWO_JOBS = """\
[global]
size=100%
time_based=1
runtime=1d
[log]
rw=write
bs=64k
size=50%
fdp=1
fdp_pli=0
[database]
rw=randwrite
bs=4k
offset=50%
size=50%
norandommap=1
iodepth=8
fdp=1
fdp_pli=1
"""


VALIDATOR = jsonschema.Draft202012Validator(json.loads(wafer._wafer.record_schema()))


@pytest.fixture(autouse=True)
def every_record_is_valid(request, monkeypatch):
    """Validates every record of every test against the schema, unless the test makes too many."""
    if request.node.get_closest_marker("unvalidated"):
        return
    made = wafer.Result.__init__

    def validated(self, text):
        made(self, text)
        VALIDATOR.validate(self.record)

    monkeypatch.setattr(wafer.Result, "__init__", validated)


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def small():
    """A device of 256 MiB with 73 RUs of 4 MiB."""
    return wafer.Device(
        "warp", capacity="256MiB", reclaim_unit_size="4MiB", overprovisioning=0.3, gc_forced_free=0.03
    )


@pytest.fixture
def job():
    return wafer.fio_text(RANDOM_JOB)


@pytest.fixture
def two_jobs():
    return wafer.fio_text(TWO_JOBS)
