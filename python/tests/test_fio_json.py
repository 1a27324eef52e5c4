"""The results of a run with a clock in fio's JSON format, read by fio's own tools."""

import csv
import json
import shutil
import subprocess
import sys

import pytest

JOB = """
[global]
bs=4k
size=100%
time_based=1
runtime=100ms
[mixed]
rw=randrw
iodepth=4
"""
# Keys that a run does not record: it has no shares of queue depths.
LEFT_OUT = {"iodepth_level", "iodepth_submit", "iodepth_complete"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Returns a folder with the results of wafer and of fio for the same kind of job."""
    folder = tmp_path_factory.mktemp("fio")
    (folder / "mixed.fio").write_text(JOB)
    wafer = shutil.which("wafer")
    assert wafer, "the wheel installs the command"
    device = ["--device", "pm9a3", "--set", "capacity=1GiB", "--set", "reclaim_unit.size=4MiB"]
    device += ["--set", "overprovisioning=0.3", "--precondition", "sequential"]
    job = ["--fio", folder / "mixed.fio", "--time", "--fio-json", folder / "wafer.json"]
    subprocess.run([wafer, "run", *device, *job], check=True, capture_output=True)
    fio = ["fio", "--name=mixed", "--ioengine=null", "--rw=randrw", "--bs=4k", "--size=16m", "--iodepth=4"]
    fio += ["--output-format=json+", f"--output={folder / 'fio.json'}"]
    subprocess.run(fio, check=True, capture_output=True)
    return folder


def shape(value, path=""):
    """Returns the paths of all keys; those of bins and percentiles are data."""
    if not isinstance(value, dict) or path.endswith((".bins", "job options")):
        return {path}
    return {path}.union(*(shape(inner, f"{path}.{key}") for key, inner in value.items()))


def test_the_keys_are_those_of_fio(results):
    mine, theirs = (json.loads((results / name).read_text()) for name in ("wafer.json", "fio.json"))
    assert set(theirs) <= set(mine)
    left_out = [[key] for key in LEFT_OUT]
    expected = {path for path in shape(theirs["jobs"][0]) if path.split(".")[1:2] not in left_out}
    assert expected - shape(mine["jobs"][0]) == set()
    latency = mine["jobs"][0]["read"]["clat_ns"]
    assert sum(latency["bins"].values()) == latency["N"] == mine["jobs"][0]["read"]["total_ios"]
    for way in ("read", "write"):
        of = mine["jobs"][0][way]
        for figure in ("bw", "iops"):
            low, mean, high = (of[f"{figure}_{end}"] for end in ("min", "mean", "max"))
            assert low == high, figure
            assert abs(mean - low) <= 0.5, figure
    shares = [mine["jobs"][0][f"latency_{unit}"] for unit in ("ns", "us", "ms")]
    assert abs(sum(sum(unit.values()) for unit in shares) - 100) < 0.01


def jobs_of_both(folder, sections):
    """Returns the jobs in the results of wafer and of fio for the same job file."""
    (folder / "j.fio").write_text(f"[global]\nrw=randread\nbs=4k\nsize=1m\nioengine=null\n{sections}")
    device = ["--device", "pm9a3", "--set", "capacity=64MiB", "--set", "reclaim_unit.size=4MiB"]
    device += ["--set", "overprovisioning=0.6", "--fio", "j.fio", "--time", "--fio-json", "mine.json"]
    subprocess.run(["wafer", "run", *device], check=True, capture_output=True, cwd=folder)
    fio = ["fio", "--output-format=json", "--output=theirs.json", "j.fio"]
    subprocess.run(fio, check=True, capture_output=True, cwd=folder)
    return [json.loads((folder / f"{name}.json").read_text())["jobs"] for name in ("mine", "theirs")]


def test_groups_are_those_of_fio(tmp_path):
    sections = "[a]\nstonewall\n[b]\n[c]\nstonewall\nnumjobs=2\n[d]\nnew_group\n[e]\n"
    both = jobs_of_both(tmp_path, sections)
    groups = [{job["jobname"]: job["groupid"] for job in jobs} for jobs in both]
    assert groups[0] == groups[1]
    assert len(set(groups[0].values())) == 3


def test_jobs_of_a_group_are_one_where_fio_has_one(tmp_path):
    """Jobs are in file order; those of a group with group_reporting are one."""
    sections = (
        "[z]\n[y]\nrw=randwrite\n[one]\nnew_group\ngroup_reporting\n[two]\nrw=randwrite\ngroup_reporting\n"
        "[three]\nstonewall\ngroup_reporting\nnumjobs=2\n[a]\ngroup_reporting\nnew_group\nrw=randrw\n"
    )

    def told(job):
        # fio draws the reads and writes of a mixed job from its own random numbers.
        counts = [job[way]["total_ios"] for way in ("read", "write")]
        return job["jobname"], job["groupid"], [sum(counts)] if job["jobname"] == "a" else counts

    both = jobs_of_both(tmp_path, sections)
    mine, theirs = ([told(job) for job in jobs] for jobs in both)
    assert mine == theirs
    assert [job[0] for job in mine] == ["z", "y", "one", "three", "a"]
    # The options are those of the last section.
    assert [jobs[2]["job options"]["rw"] for jobs in both] == ["randwrite", "randwrite"]


def test_a_trace_is_one_job(tmp_path):
    (tmp_path / "t.csv").write_text("".join(f"1,W,{k * 4096},4096,{k * 100}\n" for k in range(50)))
    device = ["--device", "pm9a3", "--set", "capacity=64MiB", "--set", "reclaim_unit.size=4MiB"]
    device += ["--set", "overprovisioning=0.6", "--trace", "t.csv", "--time", "--fio-json", "mine.json"]
    subprocess.run(["wafer", "run", *device], check=True, capture_output=True, cwd=tmp_path)
    (job,) = json.loads((tmp_path / "mine.json").read_text())["jobs"]
    assert (job["jobname"], job["write"]["total_ios"]) == ("trace", 50)


def test_fio_converts_the_bins(results):
    command = ["fio_jsonplus_clat2csv", results / "wafer.json", results / "clat.csv"]
    subprocess.run(command, check=True, capture_output=True)
    with (results / "clat_job0.csv").open() as file:
        rows = list(csv.reader(file, skipinitialspace=True))
    column = rows[0].index("read_clat_ns_count")
    counted = sum(int(row[column]) for row in rows[1:] if row[column])
    job = json.loads((results / "wafer.json").read_text())["jobs"][0]
    assert counted == job["read"]["total_ios"] > 1000


def test_fio_plot_draws_the_latencies(results):
    folder = results / "plot"
    folder.mkdir()
    shutil.copy(results / "wafer.json", folder / "randrw-4-1.json")
    command = shutil.which("fio-plot", path=str(sys.prefix) + "/bin") or shutil.which("fio-plot")
    assert command, "fio-plot is part of the test environment"
    picture = results / "latency.png"
    arguments = ["-i", folder, "-T", "latencies", "-H", "-r", "randrw", "-d", "4", "-n", "1", "-f", "read"]
    subprocess.run([command, *arguments, "-o", picture], check=True, capture_output=True, timeout=120)
    assert picture.stat().st_size > 10_000
