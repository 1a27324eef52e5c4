"""Intervals and comparisons, against tables and simulation."""

import math

import numpy as np
import pytest

import wafer
from wafer import endurance, stats


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062), (2, 4.3027), (4, 2.7764), (9, 2.2622), (30, 2.0423), (1000, 1.9623)],
)
def test_student_is_the_table(freedom, quantile):
    assert stats.student(freedom) == pytest.approx(quantile, abs=1e-4)


@pytest.mark.parametrize(
    ("freedom", "confidence", "quantile"),
    [
        # From SciPy 1.17.
        (999, 0.95, 1.9623414611334487),
        (1000, 0.95, 1.9623390808264078),
        (1000, 0.999999, 4.9222895234),
        (10**6, 0.95, 1.9599663568),
        (10**7, 0.95, 1.9599642218),
        (10**6, 0.99, 2.5758342201),
        (10**15, 0.95, 1.9599639845400563),
    ],
)
def test_student_of_many_degrees(freedom, confidence, quantile):
    assert stats.student(freedom, confidence) == pytest.approx(quantile, rel=1e-9)


@pytest.mark.parametrize("freedom", [0, -1, 1.5, "4", True, None])
def test_student_needs_a_degree_of_freedom(freedom):
    with pytest.raises(wafer.ConfigError, match=r"^freedom: expected a whole number from 1, not "):
        stats.student(freedom)


@pytest.mark.parametrize("freedom", [4, 10**6])
@pytest.mark.parametrize("confidence", [0, 1, 1.1, float("nan"), "x"])
def test_student_needs_a_confidence(freedom, confidence):
    with pytest.raises(wafer.ConfigError, match=r"is not between 0 and 1|expected a number"):
        stats.student(freedom, confidence)


def test_intervals_have_their_stated_coverage():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(2000):
        mean = stats.mean(rng.normal(5.0, 2.0, 4))
        inside += mean.low <= 5.0 <= mean.high
    # 95 %, four standard errors of 2,000 draws.
    assert abs(inside / 2000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 2000)


def test_means_print_their_significant_digits():
    assert str(stats.mean([2.1, 2.2, 2.3])) == "2.20 ± 0.25"
    assert str(stats.mean([2.0])) == "2 (one value)"
    assert str(stats.mean([1, math.inf])) == "inf ± nan"
    assert str(stats.mean([1e308, 1e308])) == "inf ± inf"
    with pytest.raises(wafer.ConfigError):
        stats.mean([])
    for wrong in (["many"], ["1", "2"], "12", np.array(["1"]), [None], 5):
        with pytest.raises(TypeError, match=r"^values: expected numbers, not "):
            stats.mean(wrong)
    with pytest.raises(ValueError, match=r"^values\[1\]: expected a number, not nan$"):
        stats.mean([1.0, math.nan])


def test_pairing_removes_the_common_noise_of_seeds():
    rng = np.random.default_rng(2)
    common = rng.normal(0, 0.3, 8)
    a = {seed: 100 * math.exp(c) for seed, c in enumerate(common)}
    b = {seed: 77 * math.exp(c + rng.normal(0, 0.01)) for seed, c in enumerate(common)}
    change = stats.compare(a, b)
    assert change.low < -0.23 < change.high
    assert change.half < 0.02
    assert change.significant
    assert str(change).startswith("B writes 2")
    assert "less to media than A" in str(change)
    same = stats.compare(a, a)
    assert not same.significant
    one = stats.compare({1: 10.0}, {1: 5.0})
    assert not one.significant
    assert "one pair" in str(one)
    with pytest.raises(wafer.ConfigError, match="no seed in common"):
        stats.compare({1: 1.0}, {2: 1.0})


def test_results_are_compared_by_seed(small, job):
    a = [wafer.run(small, job, volume="4x", seed=seed) for seed in (1, 2, 3)]
    b = [wafer.run(small.replace(gc_policy="random"), job, volume="4x", seed=seed) for seed in (3, 2, 1)]
    change = stats.compare(a, b)
    assert change.low > 0.1
    assert change.count == 3
    with pytest.raises(wafer.ConfigError, match="seed 1 twice"):
        stats.compare([a[0], a[0]], b)
    assert stats.compare(a[2], b[0]).share == stats.compare(a[2:], b[:1]).share
    with pytest.raises(wafer.ConfigError, match=r"^nope: no such column; known: .*host_bytes"):
        stats.compare(a, b, "nope")


ROWS = [
    {"op": 0.1, "policy": "fifo", "waf": 2.0, "lost": math.nan},
    {"op": 0.2, "policy": "fifo", "waf": 2.2, "lost": 1.0},
]


def test_rows_are_summarised_by_names():
    assert [s.values for s in stats.summarise(ROWS, "waf", "op")] == [{"op": 0.1}, {"op": 0.2}]
    (every,) = stats.summarise(ROWS, "waf", [])
    assert (every.values, every.mean.count) == ({}, 2)
    assert stats.summarise([], "waf", "op") == []


@pytest.mark.parametrize(
    ("value", "by", "message"),
    [
        ("waf", "po", "by: no row has po"),
        ("waf", ["op", "po"], "by: no row has po"),
        ("waf", 5, "by: expected a name, or a list of names, not 5"),
        ("wav", "op", "wav: no such column; known: op, policy, waf, lost"),
        ("policy", "op", "policy: expected a column of numbers, not 'fifo'"),
        ("lost", "op", "lost: expected a column of numbers, not nan"),
    ],
)
def test_what_cannot_be_summarised(value, by, message):
    with pytest.raises(wafer.ConfigError, match=f"^{message}$"):
        stats.summarise(ROWS, value, by)


def test_life_follows_the_media_writes():
    drive = endurance.Drive("3.84TB", dwpd=1, price=400, longest_life=10)
    rated = drive.life(waf=drive.rated_waf, host_bytes_per_day=3.84e12)
    assert rated.years == pytest.approx(5)
    assert rated.dwpd == pytest.approx(1)
    assert rated.tbw == pytest.approx(3.84 * 5 * 365.25)
    assert rated.carbon_per_year == pytest.approx(0.16 * 3840 / 5)
    better = drive.life(waf=drive.rated_waf / 2, host_bytes_per_day=3.84e12)
    assert better.years == pytest.approx(10)
    assert better.cost_per_year == pytest.approx(40)
    idle = drive.life(waf=1.0, host_bytes_per_day=1e9)
    assert idle.cost_per_year == pytest.approx(40)
    same = endurance.Drive("3.84TB", tbw=3.84 * 5 * 365.25)
    assert same.life(2, 1e12).years == pytest.approx(drive.life(2, 1e12).years)
    powered = endurance.Drive("3.84TB", dwpd=1, watts=10, embodied_carbon=0)
    assert powered.life(3, 1e12).carbon_per_year == pytest.approx(10 * 24 * 365.25 / 1000 * 0.445)
    impossible = [{key: -1} for key in ("dwpd", "tbw")] + [
        {"dwpd": 1, key: value}
        for key in ("warranty_years", "price", "watts", "embodied_carbon", "longest_life")
        for value in (-1, float("nan"))
    ]
    for wrong in ({}, {"dwpd": 1, "tbw": 1}, {"dwpd": 1, "rated_waf": 0.5}, *impossible):
        with pytest.raises(wafer.ConfigError):
            endurance.Drive("1TB", **wrong)
    # A write buffer can make the WAF less than 1.
    assert drive.life(0.5, 1e12).years == pytest.approx(4 * drive.life(2, 1e12).years)
    with pytest.raises(wafer.ConfigError):
        drive.life(0, 1)
    with pytest.raises(wafer.ConfigError, match="capacity: 0 bytes"):
        endurance.Drive(0, dwpd=1)
    for capacity in (-5, 3.9, math.nan, math.inf, None, True):
        with pytest.raises(wafer.ConfigError, match=r"^capacity: expected"):
            endurance.Drive(capacity, dwpd=1)
    for more in ({"dwpd": "1"}, {"dwpd": 1, "watts": None}, {"dwpd": 1, "price": "400"}):
        with pytest.raises(wafer.ConfigError, match=f"^{list(more)[-1]}: expected a number"):
            endurance.Drive("1TB", **more)
    for whole in (np.int64(10**9), 1e9):
        assert endurance.Drive(whole, dwpd=1).bytes == 10**9
    with pytest.raises(wafer.ConfigError, match=r"^waf: expected a number, not '2'"):
        drive.life("2", 1e12)
    for name, constant in endurance.CONSTANTS.items():
        assert constant.low <= constant.value <= constant.high, name
        assert constant.source
        assert constant.unit in str(constant)
