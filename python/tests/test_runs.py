"""Runs: the results of the command line, arguments, threads."""

import json
import os
import pickle
import shutil
import subprocess
import threading
import time

import numpy as np
import pytest
from conftest import RANDOM_JOB, TWO_JOBS

import wafer


def command_line(*arguments, check=True):
    program = shutil.which("wafer")
    assert program, "the wheel installs the command"
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=check)


def test_results_equal_the_command_line_bit_for_bit(tmp_path, small):
    job = tmp_path / "two.fio"
    job.write_text(TWO_JOBS)
    out = tmp_path / "cli.json"
    sets = ["capacity=256MiB", "reclaim_unit.size=4MiB", "overprovisioning=0.3", "gc.forced_free=0.03"]
    options = [option for key in sets for option in ("--set", key)]
    command_line(
        "run", "--device", "warp", *options, "--fio", job, "--volume", "6x", "--seed", "7", "--json", out
    )
    theirs = json.loads(out.read_text())
    mine = wafer.run(small, wafer.fio(job), volume="6x", seed=7)
    assert mine.digest == theirs["digest"]
    assert mine.waf > 1.05
    mine.to_json(tmp_path / "mine.json")
    assert wafer.Result.from_json(tmp_path / "mine.json").record == mine.record
    ours = json.loads((tmp_path / "mine.json").read_text())
    assert list(ours) == list(theirs)
    for record in (theirs, ours):
        record.pop("performance")
        record["provenance"].pop("started")
    assert ours == theirs


def test_experiment_files_run_as_on_the_command_line(tmp_path):
    (tmp_path / "job.fio").write_text(RANDOM_JOB)
    experiment = tmp_path / "small.toml"
    experiment.write_text(
        'volume = "3x"\nseed = 5\n[device]\nprofile = "warp"\ncapacity = "256MiB"\noverprovisioning = 0.3\n'
        '[device.reclaim_unit]\nsize = "4MiB"\n[device.gc]\nforced_free = 0.03\n'
        '[workload]\nfio = "job.fio"\n'
    )
    command_line("run", experiment, "--json", tmp_path / "cli.json")
    mine = wafer.run(wafer.experiment(experiment))
    assert mine.digest == json.loads((tmp_path / "cli.json").read_text())["digest"]
    other = wafer.run(wafer.experiment(experiment, seed=6, set={"gc_policy": "fifo"}))
    assert other.digest != mine.digest
    assert other.config["gc"]["policy"] == "fifo"
    as_dict = {
        "volume": "3x",
        "seed": 5,
        "device": {
            "profile": "warp",
            "capacity": "256MiB",
            "overprovisioning": 0.3,
            "reclaim_unit": {"size": "4MiB"},
            "gc": {"forced_free": 0.03},
        },
        "workload": {"fio_text": RANDOM_JOB},
    }
    assert wafer.run(wafer.experiment(as_dict)).digest == mine.digest


def test_timeline_and_handles_are_arrays(small, two_jobs):
    result = wafer.run(small, two_jobs, volume="4x", samples=50)
    timeline = result.timeline
    assert timeline.host_bytes.dtype == np.uint64
    assert len(timeline) == 50
    assert timeline.host_bytes[-1] == result.host_bytes == 4 * small.logical_bytes
    assert timeline.media_bytes[-1] == result.media_bytes
    assert timeline.waf[-1] == pytest.approx(result.waf)
    assert timeline.volume[-1] == pytest.approx(4)
    assert timeline.waf_at([2, 4])[1] == pytest.approx(result.waf)
    assert np.isnan(timeline.waf_at([0, 5])).all()
    growth = np.diff(timeline.host_bytes.astype(float), prepend=0)
    assert (timeline.instantaneous_waf * growth).sum() == pytest.approx(result.media_bytes)
    assert list(result.handles) == [0, 1, "gc"]
    handles = result.handles
    assert handles[0].total_host_bytes + handles[1].total_host_bytes == result.host_bytes
    extra = handles["gc"].total_media_bytes - handles["gc"].total_host_bytes
    assert handles[0].total_media_bytes + handles[1].total_media_bytes + extra == result.media_bytes
    assert handles["1"].waf == handles[1].waf > 1
    assert "²" not in handles
    with pytest.raises(KeyError, match="handle 5 was not written"):
        handles[5]
    assert pickle.loads(pickle.dumps(result)).record == result.record


@pytest.mark.parametrize(
    ("make", "arguments", "error"),
    [
        (lambda: wafer.Device("warpp"), ["config", "--device", "warpp"], wafer.ConfigError),
        (
            lambda: wafer.Device("warp", gc_polcy="x"),
            ["config", "--device", "warp", "--set", "gc.polcy=x"],
            wafer.ConfigError,
        ),
        (
            lambda: wafer.Device("warp", overprovisioning=0.001),
            ["config", "--device", "warp", "--set", "overprovisioning=0.001"],
            wafer.ConfigError,
        ),
        (
            lambda: wafer.experiment("missing.toml"),
            ["run", "missing.toml"],
            wafer.ConfigError,
        ),
        (
            lambda: wafer.fio("missing.fio"),
            ["run", "--device", "warp", "--fio", "missing.fio"],
            wafer.ConfigError,
        ),
    ],
)
def test_errors_equal_the_command_line(make, arguments, error):
    with pytest.raises(error) as raised:
        make()
    assert isinstance(raised.value, wafer.WaferError)
    told = command_line(*arguments, check=False)
    assert told.returncode == 2
    # The command line names its option, and Python its keyword; the rest is the same.
    said = told.stderr.strip().replace("--set gc.polcy", "gc_polcy").replace("--set ", "")
    assert said == f"error: {raised.value}"


def test_errors_of_jobs_name_file_and_line(small):
    with pytest.raises(wafer.WorkloadError, match=r"^bad\.fio:2: rw: "):
        wafer.run(small, wafer.fio_text("[a]\nrw=sideways\n", name="bad.fio"))
    with pytest.raises(wafer.ConfigError, match="volume: `many` is not a volume"):
        wafer.run(small, wafer.fio_text(RANDOM_JOB), volume="many")
    with pytest.raises(wafer.ConfigError, match="precondition"):
        wafer.run(small, wafer.fio_text(RANDOM_JOB), volume="1x", precondition="stale")
    with pytest.raises(wafer.ConfigError, match="samples"):
        wafer.run(small, wafer.fio_text(RANDOM_JOB), volume="1x", samples=1)


@pytest.mark.parametrize("bare", [8, 2.5, np.int64(8), np.float64(3), True, b"8x", [1]])
def test_a_volume_without_a_unit_is_refused(small, bare):
    with pytest.raises(wafer.ConfigError, match=r"^volume: ") as raised:
        wafer.run(small, wafer.fio_text(RANDOM_JOB), volume=bare)
    number = isinstance(bare, (int, float)) and not isinstance(bare, bool)
    wanted = (
        f'write "{bare}x" (capacities) or "{bare}GiB" (bytes)'
        if number or isinstance(bare, np.int64)
        else "not "
    )
    assert wanted in str(raised.value)


TABLE = {
    "device": {"profile": "warp", "capacity": "256MiB"},
    "workload": {"fio_text": RANDOM_JOB},
    "volume": "1x",
}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: wafer.experiment({**TABLE, "volme": "1x"}), "experiment: volme: unknown key"),
        (
            lambda: wafer.experiment({**TABLE, "name": "mine", "device": "warpp"}),
            "mine: device: no such profile",
        ),
        (lambda: wafer.experiment({**TABLE, "device": {"colour": 1}}), "experiment: colour: unknown key"),
        (lambda: wafer.Device.from_dict({"capacity": "1GiB", "colour": 1}), "device: colour: unknown key"),
        (lambda: wafer.model("aerospike", fil=1), "workload: fil: unknown key"),
        (lambda: wafer.tenants({"name": "a", "workload": {"model": "aerospik"}}), "tenants: model: no model"),
    ],
)
def test_errors_in_a_dict_name_no_line_and_no_file(make, said):
    with pytest.raises(wafer.ConfigError) as raised:
        make()
    assert str(raised.value).startswith(said)


def test_keys_of_a_device_in_a_dict_may_be_dotted(small):
    dotted = {
        "capacity": "256MiB",
        "reclaim_unit.size": "4MiB",
        "overprovisioning": 0.3,
        "gc.forced_free": 0.03,
    }
    tables = {"capacity": "256MiB", "reclaim_unit": {"size": "4MiB"}, "overprovisioning": 0.3}
    tables["gc"] = {"forced_free": 0.03}
    mixed = {**tables, "gc": {}, "gc_forced_free": 0.03}
    made = [wafer.Device.from_dict(keys) for keys in (dotted, tables, mixed)]
    assert made[0] == made[1] == made[2]
    assert made[0].config["reclaim_unit"]["size"] == small.config["reclaim_unit"]["size"]
    with pytest.raises(wafer.ConfigError, match=r"gc\.policy: gc is a value, not a table"):
        wafer.Device.from_dict({"gc": 1, "gc.policy": "fifo"})
    with pytest.raises(wafer.ConfigError, match=r"^isolation: expected text, found \[\]$"):
        wafer.Device("warp", isolation=[])


def test_lists_of_a_device_may_be_arrays():
    split = {"capacity": "256MiB", "reclaim_unit_size": "1MiB", "overprovisioning": 0.3}
    namespaces = [{"size": "128MiB", "handles": handles} for handles in ([0], [1, 2])]
    arrays = [{**each, "handles": np.array(each["handles"])} for each in namespaces]
    made = [wafer.Device("warp", **split, namespaces=each) for each in (namespaces, arrays)]
    assert made[0] == made[1]


def test_a_run_that_does_not_fit_is_refused(job):
    huge = wafer.Device("warp", capacity="64TiB", reclaim_unit_size="64GiB", overprovisioning=0.3)
    if (wafer.available_memory() or 0) > huge.memory_bytes:
        huge = None
    assert huge is not None, "a machine with so much memory needs a larger device here"
    with pytest.raises(wafer.NotEnoughMemory, match="GiB of memory"):
        wafer.run(huge, job, volume="1x")


def test_files_have_no_characters_that_act_on_a_terminal(small, tmp_path):
    job = wafer.fio_text(RANDOM_JOB, name="x\x9b2Jy.fio")
    result = wafer.run(small, job, volume="1x")
    result.to_json(tmp_path / "r.json")
    text = (tmp_path / "r.json").read_text(encoding="utf-8")
    assert "\\u009b2J" in text
    assert "\x9b" not in text
    assert wafer.Result.from_json(tmp_path / "r.json").name == result.name


def test_a_slash_in_a_name_is_not_a_folder(tmp_path):
    (tmp_path / "job.fio").write_text(RANDOM_JOB)
    table = {"device": "warp", "workload": {"fio": "job.fio"}, "name": "4k/random"}
    assert wafer.experiment(table, folder=tmp_path).name == "4k-random"


def test_a_run_is_cancelled_from_another_thread(small, job):
    cancel = wafer.Cancel()
    seen = []

    def told(stage, done, total):
        seen.append((stage, total))
        cancel.cancel()

    with pytest.raises(wafer.Cancelled):
        wafer.run(small, job, volume="100000x", progress=told, cancel=cancel)
    assert seen[0] == ("running", 100_000 * small.logical_bytes)
    assert cancel.cancelled


def test_short_runs_end_too_once_they_are_cancelled(small, job):
    cancel = wafer.Cancel()
    wafer.run(small, job, volume="1x", cancel=cancel)
    cancel.cancel()
    with pytest.raises(wafer.Cancelled):
        wafer.run(small, job, volume="1x", cancel=cancel)


def test_runs_in_threads_are_concurrent_and_return_the_same(small, job):
    alone = [wafer.run(small, job, volume="20x", seed=seed).digest for seed in (1, 2)]
    # Each run waits in its progress callback until the other one runs.
    both = threading.Barrier(2, timeout=60)
    digests = {}

    def one(seed):
        waited = []

        def told(stage, done, total):
            if not waited:
                waited.append(both.wait())

        digests[seed] = wafer.run(small, job, volume="20x", seed=seed, progress=told).digest

    threads = [threading.Thread(target=one, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not both.broken
    assert [digests[1], digests[2]] == alone


def test_the_interpreter_is_free_while_a_run_goes_on(small, job):
    cancel = wafer.Cancel()
    failed = []

    def one():
        try:
            wafer.run(small, job, volume="100000x", cancel=cancel)
        except wafer.Cancelled:
            pass
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=one)
    thread.start()
    counted, end = 0, time.monotonic() + 0.3
    while time.monotonic() < end:
        counted += 1
    cancel.cancel()
    thread.join(timeout=30)
    assert not thread.is_alive()
    assert not failed
    assert counted > 1000


def test_an_exception_in_progress_ends_the_run(small, job):
    def told(stage, done, total):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        wafer.run(small, job, volume="100000x", progress=told)


def test_records_have_findings_and_metrics_and_old_ones_get_them(small, two_jobs, tmp_path):
    result = wafer.run(small, two_jobs, volume="4x")
    assert {"kind", "title", "text"} <= result.findings[0].keys()
    assert result.metrics["device"]["cumulative"][-1] == pytest.approx(result.waf, abs=1e-6)
    jobs = result.record["provenance"]["workload"]["jobs"]
    assert [(job["name"], job["handles"]) for job in jobs] == [("log", [0]), ("database", [1])]
    assert result.summary["rejected"] == 0 < result.summary["commands"]
    old = {key: value for key, value in result.record.items() if key not in ("findings", "metrics")}
    (tmp_path / "old.json").write_text(json.dumps(old))
    (again,) = wafer.read_results(tmp_path / "old.json")
    assert (again.findings, again.metrics) == (result.findings, result.metrics)


def test_a_measured_drive_has_no_geometry(small, job, tmp_path):
    record = wafer.run(small, job, volume="2x").record
    for key in ("geometry", "config", "seed"):
        record["provenance"].pop(key)
    record.pop("digest")
    measured = {"device": "/dev/nvme0", "capacity_bytes": None, "source": "fdp", "endurance_group": 1}
    measured |= {
        "nvme_cli": "",
        "interval_seconds": 1.0,
        "command": [],
        "missed": 0,
        "wraps": 0,
        "resets": [],
    }
    record["provenance"]["measured"] = measured
    (tmp_path / "m.json").write_text(json.dumps(record))
    unknown = wafer.Result.from_json(tmp_path / "m.json")
    assert (unknown.capacity, unknown.seed, unknown.digest) == (0, None, "")
    assert "GB>" in repr(unknown)
    assert "WAF" in unknown._repr_html_()
    assert np.isnan(unknown.timeline.volume).all()
    assert "seed" not in unknown._repr_html_()
    assert set(unknown.to_polars()["seed"].to_list()) == {None}
    simulated = wafer.run(small, job, volume="2x", seed=7)
    seeds = wafer.frame([unknown, simulated], "sample")["seed"].to_list()
    assert (seeds[0], seeds[-1]) == (None, 7)
    assert wafer.frame([unknown, simulated], "sample", library="pandas")["seed"].isna().iloc[0]
    assert wafer.frame([unknown, simulated], "run")["seed"].to_list() == [None, 7]
    assert wafer.stats.compare(unknown, unknown).share == 0
    with pytest.raises(wafer.ConfigError, match="several runs without a seed"):
        wafer.stats.compare([unknown, unknown], unknown)
    assert np.isnan(wafer.frame([unknown], "run")["volume"].to_numpy()).all()
    drawn = unknown.plot()
    assert drawn.get_xlabel() == "host bytes, GB"
    assert drawn.lines[0].get_xdata()[-1] == pytest.approx(2 * small.logical_bytes / 1e9)
    assert unknown.waf_per("64MiB").mean() == pytest.approx(unknown.waf, rel=0.1)
    with pytest.raises(wafer.ConfigError, match="no geometry; it is unknown for a measured drive"):
        _ = unknown.geometry
    measured["capacity_bytes"] = small.logical_bytes
    known = wafer.Result(json.dumps(record))
    assert "at 2x" in repr(known)
    assert known.timeline.volume[-1] == pytest.approx(2)


def test_what_is_no_record_is_refused(tmp_path):
    (tmp_path / "x.json").write_text('{"schema": "wafer.result/1", "name": "x", "summary": {}}')
    with pytest.raises(wafer.ConfigError, match=r"x\.json: not a result record: no provenance"):
        wafer.Result.from_json(tmp_path / "x.json")
    with pytest.raises(wafer.ConfigError, match=r"cannot be read: Is a directory$"):
        wafer.Result.from_json(tmp_path)
    for text in ("x", "{}", "[]", ""):
        with pytest.raises(wafer.ConfigError, match=r"^not a result record: "):
            wafer.Result(text)
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(wafer.ConfigError, match=r"x\.json: not a result record: Expecting"):
        wafer.Result.from_json(tmp_path / "x.json")


def test_a_record_without_its_geometry_can_be_shown(small, job, tmp_path):
    record = wafer.run(small, job, volume="2x").record
    del record["provenance"]["geometry"]
    (tmp_path / "x.json").write_text(json.dumps(record))
    (result,) = wafer.read_results(tmp_path)
    assert repr(result).endswith("GB>")
    assert "not in the record" in result._repr_html_()
    for key in ("capacity", "timeline", "geometry"):
        with pytest.raises(wafer.ConfigError, match=r"the record has no geometry$"):
            getattr(result, key)


def test_handles_that_no_host_wrote_have_no_waf():
    handle = wafer.Handle([0, 0], [100, 300], 100)
    assert np.isnan(handle.waf)


def test_timelines_are_checked():
    with pytest.raises(wafer.ConfigError, match="as many as"):
        wafer.Timeline([1, 2], [1], 100)
    long = wafer.Timeline([10**12], [10**12], 10**9)
    with pytest.raises(wafer.ConfigError, match="1B makes more than 1,000,000 steps"):
        long.waf_per("1B")


@pytest.mark.parametrize("volume", [8, 2.5, "8", "2.5"])
def test_a_volume_without_a_unit_is_refused_with_both_spellings(small, job, volume):
    with pytest.raises(wafer.ConfigError, match=f"volume: .*{volume}x.*{volume}GiB"):
        wafer.run(small, job, volume=volume)


@pytest.mark.parametrize(
    "settings",
    [{"seed": 1.7}, {"seed": "1"}, {"samples": 2.5}, {"seed": -1}, {"time": 1}, {"precondition": 3}],
)
def test_settings_have_types(small, job, settings):
    (name,) = settings
    with pytest.raises(wafer.ConfigError, match=f"^{name}: expected"):
        wafer.run(small, job, volume="1x", **settings)


def test_wrong_arguments_are_named_as_the_caller_knows_them(small, job):
    with pytest.raises(TypeError, match=r"no setting `volum`; did you mean `volume`"):
        wafer.run(small, job, volum="1x")
    with pytest.raises(TypeError, match=r"workload: expected a wafer.Workload"):
        wafer.run(small, "job.fio", volume="1x")
    with pytest.raises(TypeError, match=r"device: expected a wafer.Device"):
        wafer.run(3, job, volume="1x")
    for of, name in [
        (wafer.Device, "profile"),
        (wafer.fio, "path"),
        (wafer.trace, "path"),
        (wafer.fio_text, "text"),
        (wafer.model, "name"),
        (wafer.tenants, "tenants"),
        (lambda value: wafer.calibrate_timing(value, "measured.csv"), "device"),
        (lambda value: wafer.calibrate_timing("pm9a3", "measured.csv", cancel=value), "cancel"),
        (wafer.workload, "table"),
        (lambda value: wafer.run(small, job, progress=value), "progress"),
        (lambda value: wafer.run(small, job, cancel=value), "cancel"),
        (lambda value: wafer.run(small, job, pace_from=value), "pace_from"),
        (wafer.experiment, "source"),
        (lambda value: wafer.experiment({}, folder=value), "folder"),
        (lambda value: wafer.workload({}, folder=value), "folder"),
        (wafer.sweep, "grid"),
        (lambda value: list(wafer.requests(value)), "path"),
        (lambda value: wafer.calibrate(value, "64GB"), "path"),
        (wafer.read_results, "paths"),
        (wafer.Result, "text"),
        (wafer.Result.from_json, "path"),
        (small.to_toml, "path"),
        (wafer.Device.from_dict, "config"),
        (wafer.Device.from_toml, "text"),
    ]:
        with pytest.raises(TypeError, match=f"^{name}: expected .*, not (int )?3$"):
            of(3)
    for of, name in [
        (wafer.Device.from_dict, "config"),
        (wafer.experiment, "source"),
        (wafer.read_results, "paths"),
        (wafer.sweep, "grid"),
        (lambda value: list(wafer.requests(value)), "path"),
        (lambda value: wafer.calibrate(value, "64GB"), "path"),
    ]:
        with pytest.raises(TypeError, match=f"^{name}: expected .*None$"):
            of(None)
    with pytest.raises(wafer.ConfigError, match=r"^name: expected text, not 1$"):
        wafer.Experiment(small, job, name=1)
    with pytest.raises(wafer.ConfigError, match=r"^name: expected text, not 1$"):
        wafer.run(small, job, name=1)
    with pytest.raises(wafer.ConfigError, match=r"^tenants: none given"):
        wafer.tenants()
    with pytest.raises(wafer.ConfigError, match=r"^tenants: <wafer\.Commands: 1 commands> cannot be part"):
        wafer.tenants({"workload": wafer.Commands([0])})
    # Named once, although the whole dict is wrong.
    with pytest.raises(wafer.ConfigError, match=r"^workload: missing"):
        wafer.workload({})


def test_a_run_that_ends_early_or_only_by_its_runtime_warns(small, job):
    with pytest.warns(UserWarning, match="0.50 of the capacity"):
        wafer.run(small, job, volume="0.5x")
    with pytest.warns(UserWarning, match=r"the jobs ended after .* before 5x") as caught:
        wafer.run(small, wafer.fio_text("[w]\nrw=write\nbs=4k\nsize=100%\nio_size=1m\n"), volume="5x")
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="nothing was written, so its WAF of 1 is meaningless"):
        wafer.run(small, wafer.fio_text("[r]\nrw=randread\nbs=4k\nsize=10%\n"))
    timed = wafer.fio_text("[w]\nrw=randwrite\nbs=4k\nsize=100%\ntime_based=1\nruntime=10ms\n")
    with pytest.warns(UserWarning, match="until the runtime of the jobs ends; volume 5x"):
        wafer.run(small, timed)


def test_waf_of_parts_adds_up_to_the_whole(small, job):
    result = wafer.run(small, job, volume="6x")
    passes = result.waf_per("1x")
    assert len(passes) == 6
    assert passes[0] == pytest.approx(1.0)
    assert passes.mean() == pytest.approx(result.waf, rel=1e-3)
    assert passes[3] == pytest.approx(result.waf_between("3x", "4x"))
    assert result.waf_between(0, "6x") == pytest.approx(result.waf)
    assert result.waf_between("256MiB", 2) == pytest.approx(passes[1])
    for wrong in [("2x", "1x"), ("1x", "7x"), ("1", "2x"), (-1, 2)]:
        with pytest.raises(wafer.ConfigError):
            result.waf_between(*wrong)
    with pytest.raises(wafer.ConfigError, match="volume: 7x is more than the run has, 6x"):
        result.waf_per("7x")


def test_labels_name_what_differs(small, job):
    policies = [wafer.run(small.replace(gc_policy=policy), job, volume="1x") for policy in ("fifo", "greedy")]
    assert wafer.labels(policies) == ["gc.policy = fifo", "gc.policy = greedy"]
    seeds = [wafer.run(small, job, volume="1x", seed=seed) for seed in (1, 2)]
    assert wafer.labels(seeds) == ["seed = 1", "seed = 2"]
    assert wafer.labels(seeds[0]) == wafer.labels(seeds[:1]) == [seeds[0].name]
    with pytest.raises(wafer.ConfigError, match="results: none given"):
        wafer.labels([])


def test_a_report_shows_the_runs_it_is_given(tmp_path):
    device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    runs = [
        wafer.run(device.replace(gc_policy=policy), wafer.fio_text(RANDOM_JOB), volume="1x")
        for policy in ("greedy", "fifo")
    ]
    page = wafer.report(runs, tmp_path / "page.html", title="Two <policies>")
    assert (tmp_path / "page.html").read_text() == page
    assert "<title>Two &lt;policies&gt;</title>" in page
    assert "gc.policy = fifo" in page
    with pytest.raises(wafer.ConfigError, match="results: none given"):
        wafer.report([])
    with pytest.raises(wafer.ConfigError, match=r"^title: expected text, not 1$"):
        wafer.report(runs, title=1)
    with pytest.raises(TypeError, match=r"^path: expected a path, not 1$"):
        wafer.report(runs, 1)
    with pytest.raises(wafer.ConfigError):
        wafer.report(runs, tmp_path)
    with pytest.raises(TypeError, match=r"expected a wafer\.Result, not str"):
        wafer.report("page.html")


def test_a_path_may_be_bytes_and_a_folder_is_no_file(small, job, tmp_path):
    result = wafer.run(small, job, volume="1x")
    path = os.fsencode(tmp_path / "run.json")
    result.to_json(path)
    assert wafer.Result.from_json(path).digest == result.digest
    assert [found.digest for found in wafer.read_results(path)] == [result.digest]
    with pytest.raises(wafer.ConfigError):
        result.to_json(tmp_path)
    with pytest.raises(wafer.ConfigError):
        small.to_toml(tmp_path)
