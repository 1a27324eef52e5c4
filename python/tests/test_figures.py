"""Figures and the records that they need."""

import json
import subprocess
import sys

import pytest

import wafer

pytest.importorskip("matplotlib")

from wafer import figures


def names(axes):
    """Returns the names at the ends of the lines."""
    return {text.get_text() for text in axes.texts if text.get_gid() == "line-label"}


def test_a_result_plots_its_published_points(tmp_path, small, two_jobs):
    result = wafer.run(small, two_jobs, volume="4x")
    axes = result.plot(handles=True)
    labels = [line.get_label() for line in axes.lines]
    assert "GC open RU" in labels
    assert "handle 1" in labels
    record = result.record
    record["published"] = [{"reference": "x", "host_bytes": [result.capacity * 2], "waf": [1.5]}]
    drawn = wafer.Result(json.dumps(record)).plot()
    assert drawn.lines[-1].get_xydata().tolist() == [[2.0, 1.5]]
    assert "x" in [text.get_text() for text in drawn.texts], "published points are named"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Small stand-ins for the records of a study, with the names and places of the real ones."""
    folder = tmp_path_factory.mktemp("study")
    device = wafer.Device(
        "warp", capacity="256MiB", reclaim_unit_size="1MiB", overprovisioning=0.15, gc_forced_free=0.02
    )
    job = "[a]\nrw=randwrite\nbs=4k\nsize=100%\nfdp=1\nplids=0,2\ntime_based=1\nruntime=1d\n"
    for stem in ("one-stream", "three-stream-zoned-fdp", "three-stream-zoned-nofdp"):
        workload = wafer.fio_text(job, name=f"configs/workloads/{stem}.fio")
        wafer.run(device, workload, volume="6x").to_json(folder / f"{stem}.json")
    for op in (0.05, 0.10):
        for isolation in ("initially", "persistently"):
            mapped = wafer.Device(
                "warp-pi",
                capacity="896MiB",
                reclaim_unit_size="1MiB",
                overprovisioning=op,
                isolation=isolation,
            )
            workload = wafer.fio_text(job, name="configs/workloads/three-stream-zoned-fdp.fio")
            wafer.run(mapped, workload, volume="6x").to_json(folder / f"map-{op}-{isolation}.json")
    rows = [
        {"id": "kioxia/off", "published": 2.2, "ours": 2.3, "tolerance": 0.15, "spread": 0.05},
        {"id": "kioxia/on", "published": 1.0, "ours": None, "tolerance": 0.05, "spread": None},
    ]
    (folder / "reproduce.json").write_text(json.dumps({"schema": "wafer.reproduce/1", "rows": rows}))
    return folder


def test_every_figure_with_records_is_plotted(study, tmp_path):
    drawn, missing = figures.draw_all([study], tmp_path)
    assert set(drawn) | set(missing) == {figure.name for figure in figures.FIGURES}
    assert set(drawn) == {
        "warp-one-stream",
        "warp-three-streams",
        "warp-noisy-handle",
        "warp-save-sequential",
        "warp-persistently-isolated",
        "warp-isolation-map",
        "kioxia-table",
    }
    for files in drawn.values():
        assert [file.suffix for file in files] == [".pdf", ".png"]
        assert all(file.stat().st_size > 5000 for file in files)


def test_figures_of_the_command_line(study, tmp_path):
    def run(*arguments):
        command = [sys.executable, "-m", "wafer.figures", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True)

    done = run(study, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warp-one-stream: " in done.stdout
    assert "no records for: " in done.stderr
    nothing = run(tmp_path / "missing")
    assert nothing.returncode == 2
    assert "no such file or folder" in nothing.stderr


def test_sweeps_are_plotted_and_crossovers_found(tmp_path):
    class Fake:
        keys = ("device.overprovisioning", "device.isolation", "seed")

        def __init__(self, rows):
            self.rows = rows

        key = wafer.sweeps.Sweep.key
        summary = wafer.sweeps.Sweep.summary

    rows = [
        {
            "status": "done",
            "device.overprovisioning": op,
            "device.isolation": isolation,
            "seed": seed,
            "waf": 2 - op + (0.1 - op if isolation == "persistently" else 0),
            "media_bytes": 100 * (1 + (0.1 - op if isolation == "persistently" else 0)),
        }
        for op in (0.05, 0.09, 0.14)
        for isolation in ("initially", "persistently")
        for seed in (1, 2)
    ]
    sweep = Fake(rows)
    (found,) = figures.crossover(sweep, "overprovisioning", "isolation", "initially", "persistently")
    assert found.at == pytest.approx(0.10, abs=1e-9)
    assert found.seeds == pytest.approx((0.10, 0.10))
    assert str(found).startswith("at 0.100 (seeds: 0.100, 0.100); 0.05: +")
    axes = figures.plot_sweep(sweep, "overprovisioning", "isolation")
    assert names(axes) == {"initially", "persistently"}
    assert axes.get_legend() is None
    # A band for each line: here both seeds agree, so their intervals are empty.
    assert not axes.collections
    axes = figures.plot_crossover(sweep, "overprovisioning", "isolation", "initially", "persistently")
    assert len(axes.lines) == 3
    with pytest.raises(wafer.ConfigError, match="no points with both"):
        figures.crossover(sweep, "overprovisioning", "isolation", "initially", "sometimes")
