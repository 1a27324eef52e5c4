"""Traffic from arrays and iterators, compared with the same traffic from other sources."""

import json
import pickle
import shutil
import subprocess

import numpy as np
import pytest

import wafer


def pages(device, count, seed=1):
    return np.random.default_rng(seed).integers(0, device.logical_bytes // 4096, count)


def test_arrays_are_written_unchanged(small):
    lba = pages(small, 300_000)
    result = wafer.run(small, wafer.Commands(lba))
    assert result.host_bytes == 300_000 * 4096
    assert result.waf > 1.2
    kind = result.record["provenance"]["workload"]
    assert kind["kind"] == "commands"
    assert "300000 commands, digest" in kind["text"]
    # The same in logical blocks, and as a pickled workload.
    blocks = wafer.Commands(lba * 8, length=8, unit=512)
    assert wafer.run(small, blocks).digest == result.digest
    assert wafer.run(small, pickle.loads(pickle.dumps(blocks))).digest == result.digest
    # A volume ends the run halfway.
    half = wafer.run(small, wafer.Commands(lba), volume=f"{150_000 * 4096}B")
    assert half.host_bytes == 150_000 * 4096


def test_an_iterator_equals_the_arrays(small):
    lba = pages(small, 200_001)
    placement = (lba % 3).astype(np.uint16)
    whole = wafer.run(small, wafer.Commands(lba, 1, placement), samples=20)

    def batches():
        for part, handle in zip(np.array_split(lba, 37), np.array_split(placement, 37)):
            yield part, 1, handle

    source = wafer.commands(batches)
    # The timeline has other samples if the end is unknown, so compare what is written.
    first, second = wafer.run(small, source), wafer.run(small, source)
    assert first.digest == second.digest
    for key in ("host_bytes", "media_bytes", "erased_bytes", "forced_gc"):
        assert first.summary[key] == whole.summary[key]
    assert {key: h.total_media_bytes for key, h in first.handles.items()} == {
        key: h.total_media_bytes for key, h in whole.handles.items()
    }
    listed = wafer.commands([lba[:1000], {"lba": lba[:10], "op": "deallocate"}, wafer.Commands(lba[:5])])
    summary = wafer.run(small, listed).summary
    assert summary["host_pages"] == 1005
    assert summary["deallocated_pages"] == len(np.unique(lba[:10]))


def test_commands_repeat_up_to_the_volume(small):
    fill = np.arange(0, small.logical_bytes // 4096, 64)
    result = wafer.run(small, wafer.Commands(fill, 64, repeat=True), volume="5x")
    assert result.host_bytes == 5 * small.logical_bytes
    assert result.waf == 1.0

    def endless():
        while True:
            yield fill[:100]

    endless = wafer.commands(endless)
    assert wafer.run(small, endless, volume="2x").host_bytes == 2 * small.logical_bytes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lba": [0.5]}, "lba: expected whole numbers"),
        ({"lba": [-1]}, "lba: -1 is out of range"),
        ({"lba": [0, 1], "length": [1, 1, 1]}, "length: expected one number or 2, found shape"),
        ({"lba": [0], "placement": 70_000}, "placement: 70000 is out of range"),
        ({"lba": [0], "op": "erase"}, "op: 'erase' is not one of write, deallocate, read"),
        ({"lba": [0], "op": 3}, "command 0: operation 3"),
        ({"lba": [0], "unit": 1000}, "unit: 1000 is not a positive multiple of 512"),
        ({"lba": [2**62]}, "is out of range"),
    ],
)
def test_invalid_arrays_are_refused(arguments, message):
    with pytest.raises(wafer.WorkloadError, match=message):
        wafer.Commands(**arguments)


def test_masked_and_extra_columns_are_refused(small):
    with pytest.raises(wafer.WorkloadError, match="lba: has masked values"):
        wafer.Commands(np.ma.array([0, 1], mask=[False, True]))
    six = wafer.commands([([0], [1], [0], [1], [0], [5])])
    with pytest.raises(wafer.WorkloadError, match="at most lba, length, placement, op, namespace, found 6"):
        wafer.run(small, six, volume="1x")


@pytest.mark.parametrize(("batch", "found"), [((), "nothing"), ({}, "nothing"), ({"lbaa": 1}, "lbaa")])
def test_batches_have_known_columns(small, batch, found):
    message = f"^commands: expected lba, and at most length, placement, op, namespace, unit; found {found}$"
    with pytest.raises(wafer.WorkloadError, match=message):
        wafer.run(small, wafer.commands([batch]), volume="1x")


@pytest.mark.parametrize("unit", ["4k", 512.0, True, None])
def test_a_unit_is_a_whole_number(unit):
    with pytest.raises(wafer.ConfigError, match=r"^unit: expected a whole number"):
        wafer.Commands([0], unit=unit)


def test_commands_beyond_the_device_are_refused(small):
    last = small.logical_bytes // 4096 - 1
    assert wafer.run(small, wafer.Commands([last])).host_bytes == 4096
    with pytest.raises(wafer.WorkloadError, match="commands: command 1: it ends at byte"):
        wafer.run(small, wafer.Commands([0, last + 1]))
    with pytest.raises(wafer.WorkloadError, match="command 1: namespace 4"):
        wafer.run(small, wafer.Commands([0, 0], namespace=np.array([0, 4])))
    with pytest.raises(wafer.WorkloadError, match="iterator: command 1000:"):
        wafer.run(small, wafer.commands([np.zeros(1000, int), [last + 1]]))


def test_exceptions_of_an_iterator_are_raised(small):
    def breaks():
        yield np.zeros(10, int)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        wafer.run(small, wafer.commands(breaks))
    with pytest.raises(wafer.WorkloadError, match="can be run once"):
        wafer.commands(breaks())
    with pytest.raises(wafer.WorkloadError, match="expected whole numbers"):
        wafer.run(small, wafer.commands([["a"]]))
    with pytest.raises(TypeError, match="cannot be sent"):
        pickle.dumps(wafer.commands(breaks))


def test_models_traces_and_tenants_equal_their_tables(tmp_path, small):
    trace = tmp_path / "some.iolog"
    lines = [f"/dev/nvme0n1 write {t * 4096} 4096" for t in range(500)]
    head = ["fio version 2 iolog", "/dev/nvme0n1 add", "/dev/nvme0n1 open"]
    trace.write_text("\n".join([*head, *lines, "/dev/nvme0n1 close", ""]))
    result = wafer.run(small, wafer.trace(trace, format="fio"))
    assert result.host_bytes == 500 * 4096
    assert result.record["provenance"]["workload"]["kind"] == "trace"
    with pytest.raises(wafer.WaferError, match="no model `aerospikee`; did you mean"):
        wafer.run(small, wafer.model("aerospikee"))
    assert wafer.model("jesd219a").kind == "model"


#: Large enough for the defaults of every model.
SETS = {"capacity": "4GiB", "reclaim_unit.size": "4MiB", "overprovisioning": "0.3", "gc.forced_free": "0.03"}


def both(arguments, workload, tmp_path, volume):
    """Returns the digests of the same run by the command line and by Python."""
    sets = [option for key, value in SETS.items() for option in ("--set", f"{key}={value}")]
    record = tmp_path / "run.json"
    command = [shutil.which("wafer"), "run", *arguments, *sets, "--json", str(record)]
    if volume:
        command += ["--volume", volume]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    device = wafer.Device("warp", **{key.replace(".", "_"): value for key, value in SETS.items()})
    result = wafer.run(device, workload, volume=volume)
    assert result.host_bytes > 0
    return json.loads(record.read_text())["digest"], result.digest


@pytest.mark.parametrize("name", sorted(wafer.models()))
def test_every_model_as_on_the_command_line(tmp_path, name):
    file = tmp_path / "model.toml"
    file.write_text(f'device = "warp"\n[workload]\nmodel = "{name}"\n')
    theirs, ours = both([str(file)], wafer.model(name), tmp_path, "0.1x")
    assert ours == theirs


SAMPLES = "alibaba.csv blkparse.txt financial.spc fio-v2.log fio-v3.log mqsim.trace msr.csv tencent.csv"


@pytest.mark.filterwarnings("ignore:.*damaged records")
@pytest.mark.parametrize("name", SAMPLES.split())
def test_every_reader_as_on_the_command_line(tmp_path, root, name):
    path = root / "crates/wafer-trace/tests/traces" / name
    options = ["--device", "warp", "--trace", str(path), "--trace-set", "map=wrap"]
    theirs, ours = both(options, wafer.trace(path, map="wrap"), tmp_path, None)
    assert ours == theirs
