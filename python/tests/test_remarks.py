"""What a sweep says about runs whose figures do not have their usual meaning, and engines that misbehave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wafer

SMALL = {
    "profile": "warp",
    "capacity": "64MiB",
    "reclaim_unit": {"size": "1MiB"},
    "overprovisioning": 0.5,
}
EARLY = "[w]\nrw=write\nbs=4k\nsize=1m\nloops=2\n"
JOB = "[w]\nrw=randwrite\nbs=4k\nsize=100%\nnorandommap=1\ntime_based=1\nruntime=1d\n"


def _spec(job: str, **more: Any) -> dict[str, Any]:
    return {"device": SMALL, "workload": {"fio_text": job}, "volume": "5x", "seeds": 2, **more}


@pytest.mark.parametrize("records", ["brief", "whole"])
def test_a_sweep_says_that_jobs_ended_early(tmp_path: Path, records: str) -> None:
    told = r"^2 of 2 runs: the jobs ended after 2.10 MB, before 5x$"
    with pytest.warns(UserWarning, match=told):
        wafer.sweep(_spec(EARLY), out=tmp_path, records=records)
    # A sweep that resumes and runs nothing says the same.
    with pytest.warns(UserWarning, match=told):
        assert wafer.sweep(_spec(EARLY), out=tmp_path, records=records).ran == 0


def test_a_sweep_says_that_drives_are_not_steady(tmp_path: Path) -> None:
    job = JOB + "random_distribution=zipf:1.2\n"
    device = {**SMALL, "overprovisioning": 0.2, "gc": {"policy": "fifo"}}
    spec = _spec(job, volume="1x", precondition="steady") | {"device": device}
    with pytest.warns(
        UserWarning, match=r"^2 of 2 runs: not steady after 30 capacities: WAF still changed by"
    ):
        wafer.sweep(spec, out=tmp_path)


def test_failures_of_an_earlier_call_say_how_to_repeat_them(tmp_path: Path) -> None:
    spec = {"device": SMALL, "workload": {"trace": str(tmp_path / "t.csv"), "format": "spc"}, "seeds": 2}
    with pytest.raises(wafer.RunError, match=r'on_error="keep" goes on$'):
        wafer.sweep(spec, out=tmp_path / "out")
    with pytest.raises(wafer.RunError, match=r"in an earlier call, and retry_failures=True repeats them$"):
        wafer.sweep(spec, out=tmp_path / "out")


class _Odd:
    """An engine that runs a point and changes what it returns."""

    def __init__(self, settings: wafer.sweeps.EngineSettings, change: Any) -> None:
        self.settings, self.change, self.points = settings, change, []

    def submit(self, point: wafer.sweeps.Point) -> None:
        self.points.append(point)

    def gather(self, timeout: float) -> Any:
        del timeout
        point = self.points.pop()
        return self.change(point, wafer.sweeps.run_point(point.experiment, self.settings.folder))

    def cancel(self) -> None:
        self.points.clear()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda point, outcome: [(point, outcome)] * 2,
            r"^the engine _Odd returned point .*, which was not running$",
        ),
        (lambda point, _: [(point, "done")], r"^the engine _Odd returned 'done' as the outcome of point "),
    ],
)
def test_engines_that_misbehave_are_named(tmp_path: Path, change: Any, told: str) -> None:
    wafer.sweeps.register("odd", lambda settings: _Odd(settings, change))
    with pytest.raises(wafer.RunError, match=told):
        wafer.sweep(_spec(JOB), engine="odd", out=tmp_path)
