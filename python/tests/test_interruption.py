"""Interruption by Ctrl-C and ``wafer.Cancel``: of runs, of Python code that they call, of commands."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import RANDOM_JOB

import wafer

CTRL_C = f"""
import wafer, sys
job = wafer.fio_text({RANDOM_JOB!r})
device = wafer.Device("warp", capacity="4GiB", reclaim_unit_size="4MiB", overprovisioning=0.3)
def told(stage, done, total):
    print("running", flush=True)
try:
    wafer.run(device, job, volume="100000x", progress=told)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_stops_a_run_within_a_second():
    process = subprocess.Popen([sys.executable, "-c", CTRL_C], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "running\n"
    sent = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait(timeout=60) == 0
    assert rest.endswith("interrupted\n")
    # The documented limit; in practice a run stops at its next call of progress, within 50 ms.
    assert time.monotonic() - sent < 1.0 or os.getloadavg()[0] > 2 * (os.cpu_count() or 1)


# The interpreter must not end while the thread of the run is in Python code.
BUSY = """
import os, signal, sys, threading, time, wafer
device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\nnorandommap=1\\ntime_based=1\\nruntime=1d\\n")
how, cancel = sys.argv[1], None
class Slow(wafer.Policy):
    def select_victim(self, rus):
        print("busy", flush=True)
        stop = (cancel.cancel, ()) if how == "cancel" else (os.kill, (os.getpid(), signal.SIGINT))
        threading.Timer(0.3, *stop).start()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            pass
        return 0
if how == "raise":
    try:
        wafer.run(device, job, volume="20x", policy=Slow())
    except KeyboardInterrupt:
        print("interrupted")
else:
    with wafer.interruptible() as cancel:
        wafer.run(device, job, volume="20x", policy=Slow(), cancel=cancel)
print("after")
"""


@pytest.mark.parametrize("how", ["cancel", "signal", "raise"])
def test_python_code_of_a_stopped_run_is_interrupted(how):
    done = subprocess.run([sys.executable, "-c", BUSY, how], capture_output=True, text=True, timeout=25)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("busy\ninterrupted\nafter\n" if how == "raise" else "busy\nafter\n")


def test_a_generator_that_is_interrupted_gives_no_short_result():
    device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    cancel = wafer.Cancel()

    def slow():
        for _ in range(3):
            yield np.arange(4096) % 1000
            cancel.cancel()
            end = time.monotonic() + 20
            while time.monotonic() < end:
                pass

    began = time.monotonic()
    with pytest.raises(wafer.Cancelled):
        wafer.run(device, wafer.commands(slow), cancel=cancel)
    assert time.monotonic() - began < 10


def test_ctrl_c_on_the_command_line_leaves_no_file(tmp_path):
    (tmp_path / "job.fio").write_text(RANDOM_JOB)
    arguments = ["run", "--device", "warp", "--set", "capacity=4GiB", "--set", "overprovisioning=0.3"]
    arguments += [
        "--set",
        "reclaim_unit.size=4MiB",
        "--fio",
        "job.fio",
        "--volume",
        "100000x",
        "--json",
        "r.json",
    ]
    process = subprocess.Popen(
        [shutil.which("wafer"), *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in told
    assert not (tmp_path / "r.json").exists()
