"""Points of sweeps: lists, grids, random samples, and what is refused."""

import json
import math

import numpy as np
import pytest
from conftest import RANDOM_JOB
from test_sweeps import base

import wafer
from wafer.sweeps import read_spec

DEVICE = wafer.Device("warp")
RANGE = {"low": 0.5, "high": 0.6}


def test_points_are_listed_and_labelled(tmp_path):
    points = [
        {"label": {"name": "plain"}, "gc_policy": "greedy"},
        {"label.name": "spare", "overprovisioning": 0.5},
    ]
    done = wafer.sweep(base(points=points, seeds=2), out=tmp_path)
    assert not done.failures
    assert [(row["label.name"], row["device.overprovisioning"], row["seed"]) for row in done.rows] == [
        ("plain", None, 1),
        ("plain", None, 2),
        ("spare", 0.5, 1),
        ("spare", 0.5, 2),
    ]
    assert done.key("name") == "label.name"
    (spare,) = done.results(name="spare", seed=2)
    grid = base(grid={"overprovisioning": [0.5]}, seed=2, seeds=1)
    assert spare.digest == wafer.sweep(grid, out=tmp_path / "grid").rows[0]["digest"]
    for by in ("name", ["name"]):
        assert [str(s.values["label.name"]) for s in done.summary(by=by)] == ["plain", "spare"]
    with pytest.raises(wafer.ConfigError, match="wav: no such column"):
        done.summary("wav")


def test_random_and_latin_samples():
    ranges = {"samples": 50, "seed": 3, "overprovisioning": {"low": 0.1, "high": 1.0, "log": True}}
    ranges["handles"] = {"low": 1, "high": 8, "integer": True}
    ranges["gc_policy"] = ["greedy", "fifo"]
    for kind in ("random", "latin"):
        points = read_spec(base(**{kind: dict(ranges)})).points()
        assert [p.id for p in points] == [p.id for p in read_spec(base(**{kind: dict(ranges)})).points()]
        assert len(points) == 50
        ops = [p.values["device.overprovisioning"] for p in points]
        assert 0.1 <= min(ops) < max(ops) <= 1.0
        assert {p.values["device.handles"] for p in points} <= set(range(1, 9))
        if kind == "latin":
            # All numbers of handles are about equally frequent, including the first and the last.
            handles = [p.values["device.handles"] for p in points]
            assert {handles.count(handle) for handle in range(1, 9)} <= {5, 6, 7}
            # About one in each of 50 slices of the logarithm.
            slices = {min(int(50 * math.log10(op / 0.1)), 49) for op in ops}
            assert len(slices) >= 49


def test_numbers_of_a_sweep_may_be_those_of_numpy():
    latin = {"samples": np.int64(2), "seed": np.int64(3), "handles": np.array([1, 2])}
    points = read_spec(base(seed=np.int64(4), seeds=np.int64(2), latin=latin)).points()
    assert [point.values["seed"] for point in points] == [4, 5, 4, 5]
    json.dumps([point.experiment for point in points])


def test_tables_that_vary_are_not_shared_by_points():
    grid = {"device": [{"profile": "warp", "gc": {"policy": "fifo"}}], "gc.forced_free": [0.03, 0.04]}
    points = read_spec(base(grid=grid)).points()
    assert [point.experiment["device"]["gc"]["forced_free"] for point in points] == [0.03, 0.04]


def test_nested_tables_of_points_keep_the_other_keys_of_the_base():
    device = {"profile": "warp", "gc": {"background_free": 0.0}}
    for point in ({"device": {"gc": {"policy": "fifo"}}}, {"gc": {"policy": "fifo"}}, {"gc.policy": "fifo"}):
        (made,) = read_spec(base(device=device, points=[point], seeds=1)).points()
        assert made.experiment["device"]["gc"] == {"background_free": 0.0, "policy": "fifo"}
    spec = read_spec(base(grid={"device": {"gc": {"policy": ["fifo", "greedy"]}}}, seeds=1))
    assert [point.values["device.gc.policy"] for point in spec.points()] == ["fifo", "greedy"]


def test_a_key_below_a_value_is_refused():
    spec = base(workload={"fio": "job.fio"}, grid={"workload.fio.bs": ["4k", "8k"]}, seeds=1)
    with pytest.raises(wafer.ConfigError, match=r"workload\.fio\.bs: fio is a value, not a table"):
        read_spec(spec).points()


class Greedy(wafer.Policy):
    def select_victim(self, rus):
        return rus.valid.argmin()


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"seeds": 2, "policy": Greedy()}, "policy"),
        ({"seeds": 2, "device": DEVICE}, "device"),
        ({"seeds": 2, "device": {"profile": DEVICE}}, "device"),
        ({"seeds": 2, "workload": wafer.fio_text(RANDOM_JOB)}, "workload"),
        ({"grid": {"device": [DEVICE]}}, "grid.device"),
        ({"grid": {"gc.policy": [Greedy()]}}, "grid.gc.policy"),
        ({"points": [{"device": DEVICE}]}, "points.device"),
        ({"latin": {"samples": 2, "gc.policy": [Greedy()]}}, "latin.gc.policy"),
    ],
)
def test_a_sweep_takes_no_objects(more, key):
    message = (
        f"^small: {key}: cannot write a .* as TOML; a sweep takes plain values, tables and paths of files$"
    )
    with pytest.raises(wafer.ConfigError, match=message):
        read_spec(base(**more))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "nothing to vary"),
        *(
            ({"seed": seed, "seeds": 2}, "small: seed: expected a whole number")
            for seed in (1.9, "3", True, -1)
        ),
        ({"seed": 1.9, "grid": {"handles": [1]}}, "small: seed: expected a whole number"),
        ({"seeds": True}, "seeds: expected a whole number from 1"),
        ({"seeds": 2, "device": 3}, "device: expected a name or a table, not 3"),
        ({"seeds": 2, "workload": "job.fio"}, "workload: expected a table, not 'job.fio'"),
        ({"latin": {"samples": 2, "seed": -1, "handles": [1]}}, "latin.seed: expected a whole number from 0"),
        (
            {"latin": {"samples": 2, "op": {**RANGE, "lo": 1}}},
            "latin.op: no key `lo` of a range; known: low",
        ),
        ({"latin": {"samples": 2, "op": {**RANGE, "low": "a"}}}, "latin.op.low: expected a number, not 'a'"),
        ({"random": {"samples": 2, "op": {**RANGE, "high": math.inf}}}, "random.op.high: expected a number"),
        ({"random": {"samples": 2, "op": {**RANGE, "log": "no"}}}, "random.op.log: expected True or False"),
        ({"grid": {"seed": 3}}, "grid.seed: expected a list"),
        ({"grid": {"seed": [1, "x"]}}, "grid.seed: expected a whole number from 0, not 'x'"),
        ({"grid": {"label.name": ["a", "b"]}}, "label.name: two points differ in nothing else"),
        ({"latin": {"samples": 2, "handles": {"low": 1.2, "high": 1.8, "integer": True}}}, "no whole number"),
        ({"grid": [1]}, "grid: expected a table"),
        ({"points": []}, "points: expected a list of tables"),
        ({"points": [3]}, "points: expected a list of tables"),
        ({"points": [{"handles": 3}], "grid": {"handles": [1]}}, "handles: varied twice"),
        ({"grid": {"seed": [1]}, "seeds": 2}, "seed: varied twice"),
        ({"seeds": 0}, "seeds: expected a whole number from 1"),
        ({"latin": {"overprovisioning": {"low": 0, "high": 1}}}, "latin.samples"),
        ({"random": {"samples": 2, "overprovisioning": {"low": 1, "high": 0}}}, "low must be below high"),
        ({"random": {"samples": 2, "overprovisioning": 3}}, "expected a list, or low and high"),
    ],
)
def test_what_is_no_sweep(more, message):
    with pytest.raises(wafer.ConfigError, match=message):
        read_spec(base(**more)).points()
