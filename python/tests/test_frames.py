"""Data frames, notebook views, other processes and Ctrl-C."""

import pickle
import re
import signal
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from test_sweeps import GRID, base

import wafer
from wafer import _html


@pytest.fixture(scope="module")
def runs():
    device = wafer.Device("warp", capacity="128MiB", reclaim_unit_size="2MiB", overprovisioning=0.3)
    job = wafer.fio_text("[w]\nrw=randwrite\nbs=4k\nsize=100%\nnorandommap=1\ntime_based=1\nruntime=1d\n")
    return [
        wafer.run(device.replace(gc_policy=policy), job, volume="3x", seed=seed, samples=50)
        for policy in ("greedy", "random")
        for seed in (1, 2)
    ]


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_frames_are_tidy(runs, library):
    pytest.importorskip(library)
    table = wafer.frame(runs, library=library)
    assert list(table.columns)[:3] == ["run", "seed", "gc.policy"]
    assert list(table["gc.policy"]) == ["greedy", "greedy", "random", "random"]
    assert list(table["waf"]) == [run.waf for run in runs]
    assert list(table["host_bytes"]) == [run.host_bytes for run in runs]
    assert len(set(table["run"])) > 1
    samples = wafer.frame(runs, by="sample", library=library)
    assert len(samples) == sum(len(run.timeline) for run in runs)
    assert list(samples["waf"])[-1] == runs[-1].timeline.waf[-1]
    assert list(samples["seed"])[-1] == 2
    handles = wafer.frame(runs, by="handle", library=library)
    assert sorted(set(handles["handle"])) == ["0", "gc"]
    assert next(iter(handles["waf"])) == runs[0].handles[0].waf
    one = getattr(runs[0], f"to_{library}")()
    assert list(one["media_bytes"]) == runs[0].timeline.media_bytes.tolist()
    assert len(getattr(runs[0], f"to_{library}")(by="handle")) == 2


def test_a_handle_and_a_timeline_become_frames(runs):
    pytest.importorskip("polars")
    assert runs[0].timeline.to_polars()["waf"].to_list() == runs[0].timeline.waf.tolist()
    assert runs[0].handles[0].to_polars()["waf"].to_list() == runs[0].handles[0].cumulative_waf.tolist()


def test_frames_refuse_what_they_do_not_know(runs):
    with pytest.raises(wafer.ConfigError, match="by: 'seed' is not one of run, sample, handle"):
        wafer.frame(runs, by="seed")
    with pytest.raises(wafer.ConfigError, match="library: 'excel' is not one of polars, pandas"):
        wafer.frame(runs, library="excel")
    with pytest.raises(wafer.ConfigError, match="results: none given"):
        wafer.frame([])
    with pytest.raises(TypeError, match=r"results: expected a wafer\.Result, not str 'run\.json'"):
        wafer.frame("run.json")
    with pytest.raises(TypeError, match=r"results: expected a wafer\.Result, not dict"):
        wafer.frame([{}])


def test_a_sweep_becomes_arrays_and_frames(tmp_path):
    pytest.importorskip("xarray")
    done = wafer.sweep(base(grid={**GRID, "gc_policy": ["greedy", "no-such-policy"]}, seeds=2), out=tmp_path)
    assert done.to_pandas()["waf"].count() == 4
    arrays = done.to_xarray()
    assert dict(arrays.sizes) == {"device.overprovisioning": 2, "device.gc.policy": 2, "seed": 2}
    where = {"device.overprovisioning": 0.5, "device.gc.policy": "greedy", "seed": 2}
    row = next(row for row in done if all(row[key] == value for key, value in where.items()))
    assert float(arrays["waf"].sel(where)) == row["waf"]
    assert str(arrays["digest"].sel(where).item()) == row["digest"]
    failed = arrays.sel({"device.gc.policy": "no-such-policy"})
    assert np.isnan(failed["waf"]).all()
    assert (failed["status"] == "failed").all()
    assert np.isfinite(arrays.sel({"device.gc.policy": "greedy"})["waf"].mean("seed")).all()


def test_drawn_points_have_one_dimension(tmp_path):
    pytest.importorskip("xarray")
    latin = {"samples": 4, "overprovisioning": {"low": 0.3, "high": 0.6}, "gc_forced_free": [0.03, 0.04]}
    done = wafer.sweep(base(latin=latin), out=tmp_path)
    arrays = done.to_xarray()
    assert dict(arrays.sizes) == {"point": 4}
    assert arrays["waf"].to_numpy().tolist() == [row["waf"] for row in done]
    assert arrays.coords["device.overprovisioning"].dims == ("point",)


def drawn(view):
    """Returns the SVG of a view; fails unless its HTML is well-formed."""
    ET.fromstring(view.replace("&nbsp;", " "))
    return re.findall(r"<svg.*?</svg>", view, re.DOTALL)


def test_notebooks_show_tables_and_charts(runs, tmp_path):
    device = wafer.Device("warp", capacity="1GiB", reclaim_unit_size="1MiB")
    assert "greedy" in device._repr_html_()
    assert len(drawn(device._repr_html_())) == 1
    (chart,) = drawn(runs[0]._repr_html_())
    assert chart.count("<polyline") == 3
    assert ">handle 0<" in chart
    assert "#0072b2" in chart
    assert "#3f464d" not in chart, "GC cannot be read on a dark page"
    assert 'viewBox="0 0 420 170"' in chart, "a narrow page cuts the names off"
    assert "max-width:100%" in chart
    assert len(runs[0]._repr_html_()) < 20_000
    done = wafer.sweep(base(grid={"overprovisioning": [0.3, 0.4, 0.5]}), out=tmp_path)
    (chart,) = drawn(done._repr_html_())
    assert chart.count("<circle") == 3
    many = wafer.sweeps.Sweep(tmp_path, done.rows * 5, done.keys, 0)
    assert "and 5 more points" in many._repr_html_()


def test_views_escape_names():
    view = _html.page(
        "<b>&", _html.table({"<i>": "</td>"}), _html.chart([("<a>", "red", [0, 1], [1, 2])], "<", ">")
    )
    drawn(view)
    assert "<b>" not in view
    assert "<a>" not in view
    assert _html.chart([("a", "red", [np.nan], [1.0])], "x", "y") == ""


def test_experiments_go_to_other_processes(small, job, tmp_path):
    made = wafer.Experiment(small, job, name="mine", volume="1x", seed=3)
    again = pickle.loads(pickle.dumps(made))
    assert again.name == "mine"
    assert again.seed == 3
    assert again.run().digest == made.run().digest
    (tmp_path / "job.fio").write_text(job.text)
    text = 'device = "warp"\nvolume = "1x"\nworkload = { fio = "job.fio" }\n'
    (tmp_path / "one.toml").write_text(text)
    file = wafer.experiment(
        tmp_path / "one.toml", set={"capacity": "64MiB", "reclaim_unit.size": "1MiB", "overprovisioning": 0.5}
    )
    sent = pickle.dumps(file)
    (tmp_path / "one.toml").unlink()
    assert pickle.loads(sent).run().digest == file.run().digest
    with pytest.raises(TypeError, match="cannot be sent to another process"):
        pickle.dumps(wafer.Experiment(small, wafer.commands(lambda: iter(()))))


def test_job_files_travel_with_what_they_include(small, tmp_path):
    (tmp_path / "job.fio").write_text("[w]\nrw=randwrite\ninclude more.inc\n")
    (tmp_path / "more.inc").write_text("bs=8k\nsize=${SHARE}\nnorandommap=1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHARE", "50%")
        job = wafer.fio(tmp_path / "job.fio")
        alone = wafer.run(small, job, volume="1x")
        sent = pickle.dumps(job)
        together = wafer.tenants({"name": "a", "workload": job})
        table = {
            "device": small.config,
            "workload": {"fio": tmp_path / "job.fio"},
            "volume": "1x",
            "seeds": 1,
        }
        sweep = wafer.sweep(table, out=tmp_path / "sweep", progress=False)
        assert sweep.rows[0]["digest"] == wafer.run(small, job, volume="1x", seed=1).digest
    (tmp_path / "more.inc").unlink()
    assert wafer.run(small, pickle.loads(sent), volume="1x").digest == alone.digest
    recorded = wafer.fio_text(alone.record["provenance"]["workload"]["text"])
    assert wafer.run(small, recorded, volume="1x").digest == alone.digest
    assert wafer.run(small, together, volume="1x").host_bytes == alone.host_bytes


def test_ctrl_c_ends_the_block_and_keeps_results(small, job):
    before = signal.getsignal(signal.SIGINT)
    results = []

    def interrupt(stage, done, total):
        # Only once: progress may be reported again before the run stops, and a second Ctrl-C raises.
        if results and not cancel.cancelled:
            signal.raise_signal(signal.SIGINT)

    with wafer.interruptible() as cancel:
        results.append(wafer.run(small, job, volume="1x", cancel=cancel))
        wafer.run(small, job, volume="100000x", cancel=cancel, progress=interrupt)
        results.append(None)
    assert len(results) == 1
    assert cancel.cancelled
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_raises():
    def twice():
        with wafer.interruptible():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        twice()
    with pytest.raises(wafer.Cancelled), wafer.interruptible():
        raise wafer.Cancelled("by somebody else")
