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
    """Small stand-ins for the records of a study, with the names and paths of the real ones."""
    folder = tmp_path_factory.mktemp("study")
    # As many reclaim units as the emulator has, which labels of figures name, each of 1 MiB.
    device = wafer.Device("warp", capacity="3584MiB", reclaim_unit_size="1MiB")
    job = "[a]\nrw=randwrite\nbs=4k\nsize=100%\nfdp=1\nplids=0,2\ntime_based=1\nruntime=1d\n"
    for stem in ("one-stream", "three-stream-zoned-fdp", "three-stream-zoned-nofdp"):
        workload = wafer.fio_text(job, name=f"configs/workloads/{stem}.fio")
        wafer.run(device, workload, volume="2x").to_json(folder / f"{stem}.json")
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
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "reproduce.json").write_text("{")
    bad = run(tmp_path / "bad")
    assert bad.returncode == 2
    assert bad.stderr.startswith(f"error: {tmp_path / 'bad' / 'reproduce.json'}: ")
    assert bad.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "no rows"),
        ("[]", "no rows"),
        ('{"rows": 3}', "no rows"),
        ('{"rows": [', "Expecting value"),
        ('{"rows": [3]}', r"rows\[0\]: expected an id and a published value"),
        ('{"rows": [{"id": "warp/x", "published": "2"}]}', r"rows\[0\]: expected an id"),
        ('{"rows": [{"id": "x", "published": 2}]}', r"rows\[0\]: expected an id"),
    ],
)
def test_a_damaged_table_is_named(tmp_path, text, message):
    (tmp_path / "reproduce.json").write_text(text)
    with pytest.raises(wafer.ConfigError, match=rf"reproduce\.json: .*{message}"):
        figures.read_material([tmp_path])


def test_a_damaged_record_of_a_folder_is_named_and_other_json_skipped(tmp_path, small, job):
    (tmp_path / "in").mkdir()
    wafer.run(small, job, volume="1x").to_json(tmp_path / "in" / "run.json")
    (tmp_path / "other.json").write_text('{"schema": "another"}')
    assert len(figures.read_material([tmp_path]).results) == 1
    with pytest.raises(wafer.ConfigError, match=r"other\.json"):
        figures.read_material([tmp_path / "other.json"])
    text = (tmp_path / "in" / "run.json").read_text()
    for damaged in (text[:-100], '{"schema": "wafer.result/1"}'):
        (tmp_path / "in" / "run.json").write_text(damaged)
        for read in (figures.read_material, lambda paths: wafer.read_results(paths[0] / "in")):
            with pytest.raises(wafer.ConfigError, match=r"run\.json: "):
                read([tmp_path])


def test_a_figure_has_only_runs_of_the_devices_that_it_names(small, two_jobs):
    record = json.dumps(wafer.run(small, two_jobs, volume="1x").record)

    def run(stem, profile, units, spare):
        """Returns a record of a device with so many logical reclaim units."""
        changed = json.loads(record)
        provenance = changed["provenance"]
        provenance["device"] = profile
        provenance["workload"]["path"] = f"configs/workloads/{stem}.fio"
        provenance["config"]["isolation"] = "persistently" if profile == "warp-pi" else "initially"
        provenance["geometry"]["logical_pages"] = units * provenance["geometry"]["pages_per_ru"]
        provenance["geometry"]["overprovisioning"] = spare
        return wafer.Result(json.dumps(changed))

    def lines(draw, *runs):
        figure = draw(figures.Material(list(runs)))
        return set() if figure is None else {line.get_label() for ax in figure.axes for line in ax.lines}

    one = figures.studies.one_stream
    assert lines(one, run("one-stream", "warp", 3584, 0.14)) == {"emulator, 128 MiB RUs, OP 14 %"}
    assert lines(one, run("one-stream", "warp", 1792, 0.0999)) == {"emulator, 256 MiB RUs, OP 10 %"}
    for units, spare in ((1024, 0.30), (3584, 0.10), (3584, 0.12), (1792, 0.14), (1024, 0.14)):
        assert not lines(one, run("one-stream", "warp", units, spare))
    assert lines(one, run("one-stream", "drive-a", 500, 0.208)) == {"commercial drive A"}
    assert not lines(one, run("one-stream", "drive-a", 500, 0.3))
    pi = figures.studies.persistently_isolated
    zoned = "three-stream-zoned-fdp"
    assert lines(pi, run(zoned, "warp-pi", 896, 0.0993)) == {"80/20, a handle each"}
    for profile, spare in (("warp-pi", 0.12), ("warp", 0.14), ("drive-a", 0.208)):
        assert not lines(pi, run(zoned, profile, 896, spare))
        assert not lines(figures.studies.noisy_handle, run(zoned, profile, 896, spare + 0.02))
    measured = json.loads(record)
    del measured["provenance"]["geometry"]
    measured["provenance"]["workload"]["path"] = "configs/workloads/one-stream.fio"
    assert not lines(one, wafer.Result(json.dumps(measured)))


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
    # Each line has a band, but both seeds agree here, so the intervals are empty.
    assert not axes.collections
    axes = figures.plot_crossover(sweep, "overprovisioning", "isolation", "initially", "persistently")
    assert len(axes.lines) == 3
    with pytest.raises(wafer.ConfigError, match="no points with both"):
        figures.crossover(sweep, "overprovisioning", "isolation", "initially", "sometimes")
