"""Traces as arrays, and placement rules in Python."""

import pickle

import numpy as np
import pytest

import wafer

NONE = 0xFFFF


@pytest.fixture
def blkparse(tmp_path):
    """A trace of two processes: `log` writes sequentially, `db` at random; and a read."""
    path = tmp_path / "some.blkparse"
    pages = np.random.default_rng(1).integers(8192, 16384, 4000)
    lines = []
    for n, page in enumerate(pages):
        lines.append(f"8,0 0 1 {n // 100}.{n % 100:02} 1 D W {n * 32 % 65536} + 32 [log]")
        lines.append(f"8,0 0 1 {n // 100}.{n % 100:02} 2 D W {page * 8} + 8 [db]")
    lines.append("8,0 0 1 99.0 2 D R 0 + 8 [db]")
    path.write_text("\n".join([*lines, ""]))
    return path


def test_a_trace_that_has_changed_is_read_again(tmp_path):
    path = tmp_path / "t.csv"

    def write(count):
        path.write_text("".join(f"0,{i * 8},4096,W,{i / 1000}\n" for i in range(count)))

    write(1000)
    device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    trace = wafer.trace(path, format="spc", map="compact")
    placed = wafer.trace(path, format="spc", placement=lambda chunk: chunk.length * 0)
    assert wafer.run(device, trace).host_bytes == 1000 * 4096
    write(3000)
    assert wafer.run(device, trace).host_bytes == 3000 * 4096
    with pytest.raises(
        wafer.ConfigError, match=r"t.csv: has changed since its requests were given placement"
    ):
        wafer.run(device, placed)


def test_a_trace_is_read_as_arrays(blkparse):
    path = blkparse.with_suffix(".damaged")
    path.write_text(blkparse.read_text() + "8,0 0 1 99.0 2 D W 1 + none [db]\n")
    with pytest.warns(UserWarning, match="damaged records in all"):
        list(wafer.requests(path))
    pieces = list(wafer.requests(blkparse))
    op = np.concatenate([piece.op for piece in pieces])
    assert (op == 0).sum() == 8000
    assert (op == 2).sum() == 1
    piece = pieces[0]
    assert list(piece.volumes) == ["8,0"]
    assert list(piece.processes) == ["log", "db"]
    assert piece.offset[0] == 0
    assert piece.length[0] == 32 * 512
    assert piece.length[1] == 4096
    assert (piece.placement == NONE).all()
    assert piece.writes.sum() == (piece.op == 0).sum()
    assert (np.diff(piece.time_ns[:8000].astype(np.int64)) >= 0).all()
    with pytest.raises(wafer.WorkloadError, match="no such file"):
        list(wafer.requests(blkparse.with_suffix(".missing")))
    with pytest.raises(wafer.WorkloadError, match="no format `csv`"):
        list(wafer.requests(blkparse, format="csv"))


def test_chunks_are_compared_by_identity(blkparse):
    chunk = next(wafer.requests(blkparse))
    assert chunk == chunk
    assert chunk != next(wafer.requests(blkparse))


def test_a_function_places_like_the_rules_of_a_table(blkparse):
    device = wafer.Device("warp", capacity="80MiB", reclaim_unit_size="1MiB", overprovisioning=0.15)

    def by_process(piece):
        log = piece.processes.index("log")
        return np.where(piece.process == log, 1, 2)

    def run(placement):
        workload = wafer.trace(blkparse, placement=placement, map="compact")
        return wafer.run(device, workload, volume="6x")

    ours = run(by_process)
    table = run([{"handle": 1, "process": "log"}, {"handle": 2}])
    text = run("1: process=log; 2")
    assert ours.media_bytes == table.media_bytes == text.media_bytes
    host = [[int(h.host_bytes[-1]) for h in r.handles.values()] for r in (ours, table)]
    assert host[0] == host[1]
    assert sum(bytes > 0 for bytes in host[0]) == 2
    one = run(lambda piece: 0)
    assert one.media_bytes == run("0").media_bytes
    # The placements travel to another process; the function does not.
    workload = wafer.trace(blkparse, placement=by_process, map="compact")
    again = pickle.loads(pickle.dumps(workload))
    assert wafer.run(device, again, volume="6x").media_bytes == ours.media_bytes


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda piece: [1, 2], "shape"),
        (lambda piece: piece.length * 0.5, "whole numbers"),
        (lambda piece: -1, "0 to 65534"),
        (lambda piece: 65536, "0 to 65534"),
    ],
)
def test_invalid_placements_are_refused(blkparse, answer, message):
    with pytest.raises(wafer.WorkloadError, match=message):
        wafer.trace(blkparse, placement=answer)


def test_an_exception_of_a_rule_is_raised(blkparse):
    def breaks(piece):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        wafer.trace(blkparse, placement=breaks)
