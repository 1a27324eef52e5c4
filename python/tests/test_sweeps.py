"""Sweeps: which points run, what survives a crash, and equal results on every engine."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from conftest import RANDOM_JOB

import wafer
from wafer.sweeps import engine as engines
from wafer.sweeps import read_spec
from wafer.sweeps.local import LocalEngine, MemoryGate


def base(**more):
    return {
        "name": "small",
        "device": {
            "profile": "warp",
            "capacity": "128MiB",
            "overprovisioning": 0.3,
            "reclaim_unit": {"size": "2MiB"},
            "gc": {"forced_free": 0.03},
        },
        "workload": {"fio_text": RANDOM_JOB},
        "volume": "3x",
        **more,
    }


GRID = {"overprovisioning": np.array([0.3, 0.5]), "gc_policy": ["greedy", "random"]}


def test_a_grid_is_all_combinations(tmp_path):
    done = wafer.sweep(base(grid=GRID, seeds=2), out=tmp_path)
    assert len(done) == done.ran == 8
    assert not done.failures
    assert done.keys == ["device.overprovisioning", "device.gc.policy", "seed"]
    alone = wafer.run(
        wafer.Device(
            "warp",
            capacity="128MiB",
            overprovisioning=0.5,
            reclaim_unit_size="2MiB",
            gc={"forced_free": 0.03, "policy": "random"},
        ),
        wafer.fio_text(RANDOM_JOB),
        volume="3x",
        seed=2,
    )
    row = done.rows[-1]
    assert (row["device.overprovisioning"], row["device.gc.policy"], row["seed"]) == (0.5, "random", 2)
    assert row["digest"] == alone.digest
    assert row["waf"] == alone.waf
    assert done.results(overprovisioning=0.5, gc_policy="random", seed=2)[0].digest == alone.digest
    summary = done.summary(by=["gc_policy"])
    assert [s.mean.count for s in summary] == [2, 2]
    random = [[r.waf for r in done.results(gc_policy="random", seed=seed)] for seed in (1, 2)]
    expected = wafer.stats.mean([sum(wafs) / 2 for wafs in random])
    (found,) = (s.mean for s in summary if s.values["device.gc.policy"] == "random")
    assert (found.value, found.half) == pytest.approx((expected.value, expected.half))
    assert summary[0].mean.value < summary[1].mean.value
    change = wafer.stats.compare(
        done.results(overprovisioning=0.3, gc_policy="random"),
        done.results(overprovisioning=0.3, gc_policy="greedy"),
    )
    assert change.share < 0
    (every,) = done.summary(by=[])
    assert (every.values, every.mean.count) == ({}, 2)
    with pytest.raises(wafer.ConfigError, match="no single key"):
        done.key("nothing")
    for column in ("digest", "error"):
        with pytest.raises(wafer.ConfigError, match=f"^{column}: expected a column of numbers"):
            done.summary(column)
    with pytest.raises(wafer.ConfigError, match=r"^digest: expected a column of numbers"):
        done.plot("seed", value="digest")
    with pytest.raises(wafer.ConfigError, match=r"^by: expected a name, or a list of names, not 5$"):
        done.summary(by=5)


def test_a_sweep_keeps_brief_records(tmp_path):
    spec = base(samples=1000, seeds=2)
    brief = wafer.sweep(spec, out=tmp_path / "brief")
    whole = wafer.sweep(spec, out=tmp_path / "whole", records="whole")
    assert digests(brief) == digests(whole)
    sizes = [file.stat().st_size for file in (tmp_path / "brief" / "records").iterdir()]
    assert max(sizes) <= 5000, sizes
    assert min(file.stat().st_size for file in (tmp_path / "whole" / "records").iterdir()) > 50_000
    short, long = brief.results(seed=1)[0], whole.results(seed=1)[0]
    assert short.summary == long.summary
    assert short.config == long.config
    assert [f["kind"] for f in short.findings] == [f["kind"] for f in long.findings]
    assert len(short.timeline.host_bytes) == 20
    assert short.timeline.host_bytes[-1] == long.timeline.host_bytes[-1]
    assert short.timeline.waf_at([2.0, 3.0]) == pytest.approx(long.timeline.waf_at([2.0, 3.0]), rel=0.02)
    assert short.handles[0].waf == long.handles[0].waf
    assert short.metrics.keys() == long.metrics.keys()
    with pytest.raises(wafer.ConfigError, match=r"records: expected .*, not 'short'"):
        wafer.sweep(spec, records="short")
    kept = sorted(tmp_path.rglob("*"))
    with pytest.raises(wafer.ConfigError, match=r"^records: .*brief holds brief records; .*another folder$"):
        wafer.sweep(base(samples=1000, seeds=3), out=tmp_path / "brief", records="whole")
    assert sorted(tmp_path.rglob("*")) == kept, "something ran"
    assert wafer.sweep(spec, out=tmp_path / "whole").ran == 0


def test_a_point_costs_little(tmp_path):
    """A sweep takes at most three times the processor time of the same runs and records by hand."""
    spec = base(volume="0.01x", seeds=100)
    sizes = {"capacity": "128MiB", "overprovisioning": 0.3, "reclaim_unit_size": "2MiB"}
    device = wafer.Device("warp", gc={"forced_free": 0.03}, **sizes)
    job = wafer.fio_text(RANDOM_JOB)
    started = time.process_time()
    for seed in range(100):
        record = wafer.run(device, job, volume="0.01x", seed=seed).to_json()
        (tmp_path / f"{seed}.json").write_text(record)
    by_hand = time.process_time() - started
    started = time.process_time()
    done = wafer.sweep(spec, out=tmp_path / "sweep", workers=1)
    swept = time.process_time() - started
    assert done.ran == 100
    assert swept < 3 * by_hand, f"{swept:.2f} s, by hand {by_hand:.2f} s"


def test_the_catalogue_is_read_by_polars_and_duckdb(tmp_path):
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    bad = {"gc_policy": ["greedy", "no-such-policy"]}
    done = wafer.sweep(base(grid=bad, seeds=2), out=tmp_path)
    path = str(tmp_path / "catalogue.ndjson")
    frame = polars.read_ndjson(path)
    assert frame.height == 4
    assert frame.filter(polars.col("status") == "failed").height == 2
    found = duckdb.sql(
        f"select count(*), avg(waf) from read_json_auto('{path}') where status = 'done'"
    ).fetchall()[0]
    assert found[0] == 2
    assert found[1] == pytest.approx(frame["waf"].drop_nulls().mean())
    assert done.to_polars().height == 4


def test_failures_are_kept_with_their_error_and_not_repeated(tmp_path):
    spec = base(grid={"gc_policy": ["greedy", "no-such-policy"]})
    first = wafer.sweep(spec, out=tmp_path)
    assert first.ran == 2
    (failure,) = first.failures
    assert "ConfigError" in failure["error"]
    assert "no policy `no-such-policy`" in failure["error"]
    kept = json.loads(next((tmp_path / "failures").glob("*.json")).read_text())
    assert kept["values"] == {"device.gc.policy": "no-such-policy"}
    assert wafer.sweep(spec, out=tmp_path).ran == 0
    again = wafer.sweep(spec, out=tmp_path, retry_failures=True)
    assert again.ran == 1
    assert len(again.failures) == 1
    # A mean over all policies lacks one of them; means per policy are complete.
    with pytest.warns(UserWarning, match="means are over different points: 1 have no result"):
        again.summary(by=[])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(again.summary()) == 1


def test_damaged_files_of_a_sweep_are_named(tmp_path):
    spec = base(grid={"gc_policy": ["greedy", "no-such-policy"]})
    wafer.sweep(spec, out=tmp_path)
    for path in (*(tmp_path / "failures").iterdir(), *(tmp_path / "records").iterdir()):
        text = path.read_text()
        for damaged in (text[:40], text.replace('"performance"', '"p"').replace('"message"', '"m"')):
            path.write_text(damaged)
            with pytest.raises(wafer.ConfigError, match=rf"{path.name}: .*; remove the file"):
                wafer.sweep(spec, out=tmp_path)
        path.write_text(text)


def test_a_trace_that_changed_is_noticed(tmp_path):
    trace = tmp_path / "t.csv"
    trace.write_text("".join(f"{n * 1000},h,0,Write,{n * 4096},4096,100\n" for n in range(100)))
    spec = {**base(seeds=2), "workload": {"trace": trace}}
    wafer.sweep(spec, out=tmp_path / "s")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wafer.sweep(spec, out=tmp_path / "s").ran == 0
    os.utime(trace, (time.time() + 60, time.time() + 60))
    with pytest.warns(UserWarning, match=r"t.csv changed after 2 of 2 points had run"):
        assert wafer.sweep(spec, out=tmp_path / "s").ran == 0


def test_spare_space_is_varied_by_one_key(tmp_path):
    spec = base(grid={"overprovisioning": [0.5], "reclaim_unit_count": [90]})
    with pytest.raises(wafer.ConfigError, match="one follows from the other"):
        wafer.sweep(spec, out=tmp_path)


def test_runs_that_end_early_are_told(tmp_path):
    device = {**base()["device"], "capacity": "64MiB", "overprovisioning": 0.5}
    spec = base(grid={"firmware.retire_after": [0, 5]}, device=device, volume="20x")
    for _ in range(2):
        with pytest.warns(
            UserWarning, match=r"^1 of 2 runs: the drive became read-only after .*; the run ends there$"
        ):
            rows = wafer.sweep(spec, out=tmp_path).rows
    assert [row["host_bytes"] == 20 << 26 for row in rows] == [True, False]


def test_failures_that_differ_in_numbers_are_one_message(tmp_path):
    spec = base(grid={"overprovisioning": [-1.5, -2, -1e-7, 0.3], "gc_policy": ["greedy", "none"]})
    kept = wafer.sweep(spec, out=tmp_path, on_error="keep")
    numbers, policy = sorted(kept.errors, key=lambda error: "policy" in error[0])
    assert numbers == (
        "ConfigError: experiment: overprovisioning: -1.5 is not between 0 (exclusive) and 10",
        3,
    )
    assert (policy[1], len(kept.failures)) == (4, 7)


def test_a_sweep_without_a_result_raises(tmp_path):
    spec = base(grid={"gc_policy": ["no-such-policy", "no-other"]}, seeds=10)
    with pytest.raises(wafer.RunError, match=r"the first 8 points failed, \d with: ConfigError: .*no policy"):
        wafer.sweep(spec, out=tmp_path / "raise", workers=1)
    assert 8 <= len(list((tmp_path / "raise" / "failures").glob("*.json"))) < 20
    kept = wafer.sweep(spec, out=tmp_path / "keep", on_error="keep")
    assert len(kept.failures) == 20
    assert [count for _, count in kept.errors] == [10, 10]
    assert "no policy" in kept.errors[0][0]
    with pytest.raises(wafer.RunError, match="all 20 points failed"):
        wafer.sweep(spec, out=tmp_path / "keep")
    with pytest.raises(wafer.ConfigError, match="no point of the sweep has a result"):
        kept.plot("gc_policy")
    with pytest.raises(wafer.ConfigError, match='on_error: expected "raise" or "keep"'):
        wafer.sweep(spec, out=tmp_path / "keep", on_error="ignore")


SWEEP = """
import sys, wafer, wafer.sweeps
from test_sweeps import base
wafer.sweep(base(volume="60x", seeds=40), out=sys.argv[1], workers=2)
"""


def test_kill_9_loses_the_runs_in_flight_and_repeats_none(tmp_path):
    here = os.path.dirname(__file__)
    process = subprocess.Popen([sys.executable, "-c", SWEEP, str(tmp_path)], cwd=here)
    records = tmp_path / "records"
    while not records.is_dir() or len(list(records.glob("*.json"))) < 5:
        time.sleep(0.005)
        assert process.poll() is None, "ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in records.glob("*.json")}
    assert 5 <= len(kept) < 40
    # Files that were incomplete when the process died do not count as records.
    (records / ".half.json.x.tmp").write_text("{")
    os.utime(records / ".half.json.x.tmp", (0, 0))
    (tmp_path / "failures" / ".new.json.x.tmp").write_text("{")
    with open(tmp_path / "catalogue.ndjson", "a") as file:
        file.write('{"id": "cut')
    rest = wafer.sweep(base(volume="60x", seeds=40), out=tmp_path)
    assert rest.ran == 40 - len(kept)
    assert len(rest) == 40
    assert not list(records.glob("*.tmp"))
    assert (tmp_path / "failures" / ".new.json.x.tmp").exists(), "another sweep may be writing it"
    for path, written in kept.items():
        assert path.stat().st_mtime_ns == written
    assert len((tmp_path / "catalogue.ndjson").read_text().splitlines()) == 40


def test_files_of_a_sweep_are_beside_it(tmp_path):
    (tmp_path / "job.fio").write_text(RANDOM_JOB)
    (tmp_path / "mine.toml").write_text(
        'capacity = "128MiB"\n[reclaim_unit]\nsize = "2MiB"\ncount = 90\n[gc]\nforced_free = 0.03\n'
    )
    (tmp_path / "sweep.toml").write_text(
        'device = "mine.toml"\nvolume = "2x"\nseed = 4\n[workload]\nfio = "job.fio"\n'
        "[grid]\noverprovisioning = [0.4, 0.6]\n[grid.device]\nisolation = ['initially', 'persistently']\n"
    )
    done = wafer.sweep(tmp_path / "sweep.toml", out=tmp_path / "out")
    assert len(done) == 4
    assert not done.failures, done.failures
    result = done.results(overprovisioning=0.6, isolation="persistently")[0]
    assert result.geometry["overprovisioning"] == pytest.approx(0.6, abs=0.02)
    assert result.seed == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("workers", "2"),
        ("workers", 0),
        ("workers", -1),
        ("memory", 0.5),
        ("cluster", "here"),
        ("engine", "cloud"),
    ],
)
def test_how_a_sweep_cannot_run(tmp_path, name, value):
    with pytest.raises(wafer.ConfigError, match=f"^{name}: "):
        wafer.sweep(base(seeds=1), out=tmp_path / "none", **{name: value})
    assert not (tmp_path / "none").exists()


class Inline:
    """An external engine, which runs each point when it is gathered."""

    made = 0
    cancelled = 0

    def __init__(self, settings):
        Inline.made += 1
        self.settings, self.waiting = settings, []

    def submit(self, point):
        self.waiting.append(point)

    def gather(self, timeout):
        point = self.waiting.pop(0)
        return [(point, wafer.sweeps.run_point(point.experiment, self.settings.folder))]

    def cancel(self):
        Inline.cancelled += 1


def test_an_engine_can_be_registered(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "_ENGINES", dict(engines._ENGINES))
    spec = base(grid={"gc_policy": ["greedy", "no-such-policy"]}, seeds=2)
    with pytest.raises(wafer.ConfigError, match="'inline' is not one of local, dask, ray"):
        wafer.sweep(spec, "inline", tmp_path / "inline")
    wafer.sweeps.register("inline", Inline)
    done = wafer.sweep(spec, "inline", tmp_path / "inline")
    assert (Inline.made, Inline.cancelled) == (1, 1)
    assert done.ran == 4
    assert len(done.failures) == 2
    assert digests(done) == digests(wafer.sweep(spec, out=tmp_path / "local"))


def test_an_engine_whose_cluster_is_gone_says_so(tmp_path, monkeypatch):
    def gone(settings):
        raise ConnectionError(f"{settings.cluster} does not answer")

    monkeypatch.setattr(engines, "_ENGINES", {"gone": gone})
    with pytest.raises(wafer.RunError, match="engine 'gone': tcp://away does not answer"):
        wafer.sweep(base(grid={"seed": [1]}), "gone", tmp_path, cluster="tcp://away")


@pytest.mark.parametrize("read", [wafer.sweep, wafer.experiment])
def test_a_folder_is_no_sweep(tmp_path, read):
    with pytest.raises(wafer.ConfigError, match=f"^{tmp_path}: cannot be read: (?i:is a directory)$"):
        read(tmp_path)


def test_a_cluster_is_an_address(tmp_path):
    pytest.importorskip("distributed")
    with pytest.raises(wafer.RunError, match="engine 'dask': missing port number") as raised:
        wafer.sweep(base(seeds=1), "dask", tmp_path, cluster="nonsense")
    assert isinstance(raised.value.__cause__, ValueError)


def test_cancel_does_not_hide_the_first_error():
    class Lost(Inline):
        def gather(self, timeout):
            raise LookupError("first")

        def cancel(self):
            raise ConnectionError("second")

    with pytest.raises(LookupError, match="first"):
        engines.run_points(Lost(None), read_spec(base(seeds=1)).points(), lambda point, outcome: None)


def test_an_engine_can_be_an_entry_point(tmp_path, monkeypatch):
    package = tmp_path / "elsewhere-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1\n")
    (package / "entry_points.txt").write_text("[wafer.sweep_engines]\nelsewhere = test_sweeps:Inline\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "elsewhere" in wafer.sweeps.engine_names()
    done = wafer.sweep(base(seeds=1), "elsewhere", tmp_path / "out")
    assert done.ran == 1
    assert not done.failures


def run_locally(points, done, **settings):
    engine = LocalEngine(engines.EngineSettings(".", **settings))
    engines.run_points(engine, points, lambda point, outcome: done.append(outcome))


def test_memory_is_never_exceeded(tmp_path):
    spec = base(seeds=12)
    points = read_spec(spec).points()
    one = wafer.experiment(points[0].experiment)._inner.needed_memory()
    gate_most = []
    take = MemoryGate.take

    def watched(self, wanted, cancel):
        taken = take(self, wanted, cancel)
        gate_most.append(self.used)
        return taken

    done = []
    MemoryGate.take = watched
    try:
        run_locally(points, done, workers=6, memory=int(2.5 * one))
    finally:
        MemoryGate.take = take
    assert len(done) == 12
    assert all(outcome.record for outcome in done)
    assert max(gate_most) <= 2.5 * one
    # A point that never fits fails instead of waiting forever.
    done.clear()
    run_locally(points[:2], done, workers=2, memory=one // 2)
    assert [outcome.error for outcome in done] == ["NotEnoughMemory"] * 2
    done.clear()
    run_locally(points[:1], done, workers=1, memory=1)
    assert re.fullmatch(r"needs [\d.]+ KiB of memory, but runs may take 1 B", done[0].message)


def test_ctrl_c_keeps_what_has_ended(tmp_path):
    here = os.path.dirname(__file__)
    program = SWEEP.replace('"60x", seeds=40', '"60x", seeds=4000')
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], cwd=here, stderr=subprocess.DEVNULL
    )
    while not list(tmp_path.glob("records/*.json")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) != 0
    records = list(tmp_path.glob("records/*.json"))
    rows = (tmp_path / "catalogue.ndjson").read_text().splitlines()
    assert 1 <= len(records) == len(rows) < 4000


def digests(sweep):
    return {row["id"]: row["digest"] for row in sweep.rows}


def test_dask_gives_what_threads_give(tmp_path):
    distributed = pytest.importorskip("distributed")
    spec = base(grid={"gc_policy": ["greedy", "no-such-policy"]}, seeds=3)
    local = wafer.sweep(spec, out=tmp_path / "local")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="600MB", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        done = wafer.sweep(spec, "dask", tmp_path / "dask", cluster=client)
        assert digests(done) == digests(local)
        assert len(done.failures) == 3
        hosts = {r.record["provenance"]["host"]["hostname"] for r in done.results()}
        assert len(hosts) == 1
        assert wafer.sweep(spec, "dask", tmp_path / "dask", cluster=client).ran == 0
        # 600 MB a worker: a device of 8 GiB of map does not fit, and is a failure.
        big = {
            "device": {"profile": "drive-a"},
            "workload": {"fio_text": RANDOM_JOB},
            "volume": "1x",
            "seeds": 1,
        }
        tried = wafer.sweep({"name": "big", **big}, "dask", tmp_path / "big", cluster=client, on_error="keep")
        (row,) = tried.rows
        assert "NotEnoughMemory" in row["error"]
        # If a worker dies, only its run is lost.
        killed = []

        def kill(_):
            if not killed:
                worker = next(iter(cluster.workers.values()))
                killed.append(worker.pid)
                os.kill(worker.pid, signal.SIGKILL)

        store_keep = wafer.sweeps.Store.keep

        def keep(self, point, text):
            kill(point)
            return store_keep(self, point, text)

        wafer.sweeps.Store.keep = keep
        try:
            survived = wafer.sweep(base(seeds=6), "dask", tmp_path / "killed", cluster=client)
        finally:
            wafer.sweeps.Store.keep = store_keep
        assert killed
        assert len(survived) == 6
        assert not survived.failures


@pytest.mark.parametrize("lose", [lambda client: client.restart(), lambda client: client.cluster.close()])
def test_a_cluster_that_is_lost_is_an_error(tmp_path, lose):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        started = threading.Timer(2, lose, [client])
        started.start()
        with pytest.raises(
            wafer.RunError, match=r"engine 'dask': lost its cluster: .*; .* resumed"
        ) as raised:
            wafer.sweep(base(volume="100000x", seeds=2), "dask", tmp_path, cluster=client)
        started.join()
    assert raised.value.__cause__ is not None
    assert "\n" not in str(raised.value)


def test_ray_gives_what_threads_give(tmp_path):
    pytest.importorskip("ray")
    spec = base(grid={"gc_policy": ["greedy", "no-such-policy"]}, seeds=3)
    local = wafer.sweep(spec, out=tmp_path / "local")
    done = wafer.sweep(spec, "ray", tmp_path / "ray", workers=2)
    assert digests(done) == digests(local)
    assert len(done.failures) == 3
    assert wafer.sweep(spec, "ray", tmp_path / "ray", workers=2).ran == 0


def test_ray_that_was_started_here_is_only_shut_down(monkeypatch):
    ray = pytest.importorskip("ray")
    from wafer.sweeps.ray_engine import RayEngine

    called = []
    monkeypatch.setattr(ray, "cancel", lambda task, force: called.append(task))
    monkeypatch.setattr(ray, "shutdown", lambda: called.append("shutdown"))
    for own in (True, False):
        engine = RayEngine.__new__(RayEngine)
        engine._ray, engine._own, engine._running = ray, own, {"task": None}
        engine.cancel()
    assert called == ["shutdown", "task"]


def test_ray_runs_a_hundred_points(tmp_path):
    pytest.importorskip("ray")
    spec = base(volume="20x", grid={"overprovisioning": [0.3 + 0.002 * i for i in range(100)]})
    done = wafer.sweep(spec, "ray", tmp_path, workers=2)
    assert len(done) == 100
    assert not done.failures
