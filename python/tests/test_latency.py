"""Runs with a clock: latencies, and the drives in steady state that they start from."""

import copy
import pickle

import pytest
from conftest import RANDOM_JOB

import wafer

TIMED_JOBS = """
[global]
time_based=1
runtime=200ms
bs=4k
size=100%
[writer]
rw=randwrite
iodepth=8
[reader]
rw=randread
"""


def timed_device():
    return wafer.Device("pm9a3", capacity="1GiB", reclaim_unit_size="4MiB", overprovisioning=0.3)


def test_a_keyword_overrides_whether_an_experiment_has_a_clock():
    device = {"profile": "pm9a3", "capacity": "1GiB", "reclaim_unit.size": "4MiB", "overprovisioning": 0.3}
    table = {"device": device, "workload": {"fio_text": TIMED_JOBS}, "time": True, "volume": "1MiB"}
    assert wafer.run(wafer.experiment(table)).time is not None
    assert wafer.run(wafer.experiment(table, time=False)).time is None


def test_a_run_with_a_clock_has_latencies():
    job = wafer.fio_text(TIMED_JOBS)
    result = wafer.run(timed_device(), job, time=True, precondition="sequential+steady")
    assert result.time == result.record["time"]
    assert abs(result.time["seconds"] - 0.2) < 0.01
    latency = result.latency
    reads, writes = latency.jobs["reader"].read, latency.jobs["writer"].write
    assert latency.jobs["reader"].write is None
    assert reads.min_us <= reads.percentiles_us[50.0] <= reads.percentiles_us[99.9] <= reads.max_us * 1.01
    assert reads.mean_us > 57, "programs and relocation are in the way"
    # Little's law: one read is in flight.
    assert abs(reads.iops * reads.mean_us / 1e6 - 1) < 0.02
    latencies, counts = writes.histogram
    assert counts.sum() == writes.count
    assert abs((latencies * counts).sum() / writes.count / writes.mean_us - 1) < 0.01
    assert "p99" in repr(latency.read)
    for again in (pickle.loads(pickle.dumps(latency)), copy.deepcopy(latency)):
        assert repr(again) == repr(latency)
        assert again.jobs["reader"].read.percentiles_us == reads.percentiles_us
        assert (again.jobs["writer"].write.histogram[1] == counts).all()
        for table in (again.jobs, again.read.percentiles_us):
            with pytest.raises(TypeError, match="does not support item assignment"):
                table["other"] = 1


class Greedy(wafer.Policy):
    def select_victim(self, rus):
        return rus.valid.argmin()


def test_a_drive_in_steady_state_is_kept_for_the_next_run(tmp_path, monkeypatch):
    monkeypatch.setenv("WAFER_CACHE", str(tmp_path / "cache"))

    def run(**more):
        result = wafer.run(
            timed_device(), wafer.fio_text(TIMED_JOBS), time=True, precondition="sequential+steady", **more
        )
        return result.summary, result.time, result.record["steady"].get("kept", False)

    def kept():
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").glob("*.steady")}

    first = run()
    [(path, written)] = kept().items()
    assert not first[-1]
    assert run() == (*first[:-1], True)
    assert kept()[path] > written, "it was not read"
    # A policy in Python cannot be identified, so its drive is not kept.
    assert not run(policy=Greedy())[-1]
    assert kept().keys() == {path}
    # A folder that cannot be written to gives a warning, and the run continues.
    monkeypatch.setenv("WAFER_CACHE", "/dev/null/cache")
    with pytest.warns(UserWarning, match="/dev/null/cache: the steady state is not kept"):
        assert run() == first
    monkeypatch.setenv("WAFER_CACHE_LIMIT", "much")
    with pytest.raises(wafer.ConfigError, match="WAFER_CACHE_LIMIT"):
        run()


def test_a_run_without_a_clock_has_no_latency(small, tmp_path):
    result = wafer.run(small, wafer.fio_text(RANDOM_JOB), volume="1x")
    assert result.time is None
    with pytest.raises(wafer.ConfigError, match="time=True"):
        _ = result.latency
    (tmp_path / "no-clock.toml").write_text(
        'capacity = "64MiB"\nreclaim_unit.size = "1MiB"\noverprovisioning = 0.3\n'
    )
    with pytest.raises(wafer.ConfigError, match="timing"):
        wafer.run(str(tmp_path / "no-clock.toml"), wafer.fio_text(TIMED_JOBS), time=True)
