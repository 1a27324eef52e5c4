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


@pytest.mark.parametrize("confidence", [0, 1, 1.1, float("nan")])
def test_student_needs_a_confidence(confidence):
    with pytest.raises(wafer.ConfigError, match="is not between 0 and 1"):
        stats.student(4, confidence)


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
    with pytest.raises(wafer.ConfigError):
        stats.mean([])
    with pytest.raises(wafer.ConfigError, match=r"^values: expected numbers, not \['many'\]$"):
        stats.mean(["many"])


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
    # A write buffer makes a WAF below 1.
    assert drive.life(0.5, 1e12).years == pytest.approx(4 * drive.life(2, 1e12).years)
    with pytest.raises(wafer.ConfigError):
        drive.life(0, 1)
    with pytest.raises(wafer.ConfigError, match="capacity: 0 bytes"):
        endurance.Drive(0, dwpd=1)
    for name, constant in endurance.CONSTANTS.items():
        assert constant.low <= constant.value <= constant.high, name
        assert constant.source
        assert constant.unit in str(constant)
