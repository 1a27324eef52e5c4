"""Policies in Python: the same decisions as in Rust, and errors for invalid ones."""

import numpy as np
import pytest

import wafer


class Greedy(wafer.Policy):
    def select_victim(self, rus):
        return rus.valid.argmin()


class Fifo(wafer.Policy):
    name = "oldest"

    def select_victim(self, rus):
        return int(rus.closed_order.argmin())


class CostBenefit(wafer.Policy):
    def select_victim(self, rus):
        free = rus.pages_per_ru - rus.valid.astype(np.float64)
        return np.argmax(free * rus.age / np.maximum(2.0 * rus.valid, 1e-9))


@pytest.mark.parametrize(("policy", "name"), [(Greedy(), "greedy"), (Fifo(), "fifo")])
def test_the_same_rule_gives_the_same_run(small, two_jobs, policy, name):
    rust = wafer.run(small.replace(gc_policy=name), two_jobs, volume="6x")
    python = wafer.run(small, two_jobs, volume="6x", policy=policy)
    assert python.digest == rust.digest
    assert rust.waf > 1.1


def test_the_record_names_the_policy(small, job):
    assert wafer.run(small, job, volume="2x", policy=Greedy()).config["gc"]["policy"] == "python:Greedy"
    assert wafer.run(small, job, volume="2x", policy=Fifo()).config["gc"]["policy"] == "oldest"


def test_a_policy_sees_the_state_of_the_device(small, two_jobs):
    seen = []

    class Watches(wafer.Policy):
        def select_victim(self, rus):
            count = len(rus)
            arrays = {
                name: getattr(rus, name)
                for name in ("ru", "valid", "age", "closed_order", "erases", "handle", "generation")
            }
            arrays["since_invalidation"] = rus.since_invalidation
            assert {len(array) for array in arrays.values()} == {count}
            assert rus.origins.shape == (count, 8)
            assert (np.diff(arrays["ru"].astype(int)) > 0).all()
            assert (arrays["valid"] <= rus.pages_per_ru).all()
            assert (arrays["age"] <= rus.now).all()
            assert (arrays["since_invalidation"] <= arrays["age"]).all()
            assert set(arrays["handle"].tolist()) <= {0, 1, -1}
            own = arrays["handle"] == 1
            assert (rus.origins[own, 1] == 1).all()
            assert np.allclose(rus.origins.sum(axis=1), 1, atol=1e-5)
            assert 0 <= rus.draw(10) < 10
            assert rus.classes == 1
            assert rus.forced in (True, False)
            seen.append(arrays["handle"])
            return arrays["valid"].argmin()

    wafer.run(small, two_jobs, volume="4x", policy=Watches())
    assert len(seen) > 20
    assert any((handles == -1).any() for handles in seen)


def test_arrays_may_be_kept_but_reclaim_units_not(small, job):
    kept = {}

    class Keeps(wafer.Policy):
        def select_victim(self, rus):
            kept.update(rus=rus, valid=rus.valid)
            return rus.valid.argmin()

    wafer.run(small, job, volume="3x", policy=Keeps())
    assert kept["valid"].sum() > 0
    with pytest.raises(wafer.PolicyError, match="only inside select_victim"):
        kept["rus"].valid  # noqa: B018
    with pytest.raises(wafer.PolicyError, match="only inside select_victim"):
        len(kept["rus"])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda rus: 10**9, "select_victim returned 1000000000; there are"),
        (lambda rus: len(rus), "there are"),
        (lambda rus: -1, "select_victim returned -1; there are"),
        (lambda rus: 10**30, "is not a candidate index"),
        (lambda rus: "first", "select_victim returned 'first', which is not a candidate index"),
        (lambda rus: 0.5, "returned 0.5"),
        (lambda rus: rus.valid, "returned a ndarray"),
        (lambda rus: rus.draw(0), "the bound must not be 0"),
    ],
)
def test_invalid_victims_raise_policy_errors(small, job, answer, message):
    class Nonsense(wafer.Policy):
        def select_victim(self, rus):
            return answer(rus)

    with pytest.raises(wafer.PolicyError, match=message) as raised:
        wafer.run(small, job, volume="20x", policy=Nonsense())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("policy", ["fifo", object()])
def test_what_is_no_policy_is_refused(small, job, policy):
    with pytest.raises(TypeError, match=r"policy: expected a wafer\.Policy"):
        wafer.run(small, job, volume="1x", policy=policy)


def test_a_class_is_no_policy(small, job):
    with pytest.raises(TypeError, match=r"^policy: expected an instance of .*, not the class Greedy$"):
        wafer.run(small, job, volume="1x", policy=Greedy)


def test_an_exception_of_the_policy_is_raised(small, job):
    class Breaks(wafer.Policy):
        def select_victim(self, rus):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        wafer.run(small, job, volume="20x", policy=Breaks())


def test_none_leaves_the_choice_to_the_device(small, job):
    class Abstains(wafer.Policy):
        def select_victim(self, rus):
            return None

    greedy = wafer.run(small.replace(gc_background_free=0.0), job, volume="4x")
    abstains = wafer.run(small.replace(gc_background_free=0.0), job, volume="4x", policy=Abstains())
    assert abstains.digest == greedy.digest


def test_draws_follow_the_seed(small, job):
    class Random(wafer.Policy):
        def select_victim(self, rus):
            return rus.draw(len(rus))

    runs = [wafer.run(small, job, volume="3x", seed=seed, policy=Random()).digest for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_a_policy_may_choose_the_destination(small, two_jobs):
    class Apart(Greedy):
        destination = "handle"

    apart = wafer.run(small, two_jobs, volume="6x", policy=Apart())
    rust = wafer.run(small.replace(gc_destination="handle"), two_jobs, volume="6x")
    assert apart.digest == rust.digest
    assert apart.digest != wafer.run(small, two_jobs, volume="6x", policy=Greedy()).digest

    class Nowhere(Greedy):
        destination = "attic"

    with pytest.raises(wafer.ConfigError, match="unknown value `attic`"):
        wafer.run(small, two_jobs, volume="6x", policy=Nowhere())


class ByGeneration(Greedy):
    """The rule of ``gc.destination = "generation"`` in Python."""

    classes = 3

    def select_destination(self, rus, victim):
        return min(rus.generation[victim], rus.classes - 1)


@pytest.mark.parametrize("isolation", ["initially", "persistently"])
def test_the_same_destinations_give_the_same_run(small, two_jobs, isolation):
    device = small.replace(isolation=isolation, overprovisioning=0.6)
    named = device.replace(gc_destination="generation", gc_generations=3)
    rust = wafer.run(named, two_jobs, volume="6x")
    python = wafer.run(device, two_jobs, volume="6x", policy=ByGeneration())
    assert python.digest == rust.digest
    assert python.config["gc"]["generations"] == 3
    assert python.digest != wafer.run(device, two_jobs, volume="6x", policy=Greedy()).digest
    # A single class equals `handle`; the number may be NumPy's.
    one = type("One", (ByGeneration,), {"classes": np.int64(1)})()
    rust = wafer.run(device.replace(gc_destination="handle"), two_jobs, volume="6x")
    assert wafer.run(device, two_jobs, volume="6x", policy=one).digest == rust.digest


def test_a_policy_can_choose_the_writers_handle(small, two_jobs):
    class Writer(Greedy):
        destination = "writer"

        def select_destination(self, rus, victim):
            assert rus.classes == 8
            return rus.writer if rus.forced else 0

    class Own(Writer):
        def select_destination(self, rus, victim):
            return rus.handle[victim]

    class Swapped(Writer):
        def select_destination(self, rus, victim):
            return 7

    device = small.replace(overprovisioning=0.6, isolation="persistently")
    rust = wafer.run(device.replace(gc_destination="writer"), two_jobs, volume="6x")
    assert wafer.run(device, two_jobs, volume="6x", policy=Writer()).digest == rust.digest
    # Choosing the data's own handle equals `handle`.
    own = wafer.run(device, two_jobs, volume="6x", policy=Own())
    handle = wafer.run(device.replace(gc_destination="handle"), two_jobs, volume="6x")
    assert own.summary == handle.summary != rust.summary
    assert wafer.run(device, two_jobs, volume="6x", policy=Swapped()).summary != own.summary


def test_negated_arrays_do_not_wrap(small, job):
    class Negates(wafer.Policy):
        def select_victim(self, rus):
            for array in (rus.valid, rus.age, rus.since_invalidation, rus.closed_order, rus.generation):
                assert array.dtype == np.int64
                assert (-array <= 0).all()
            return (-rus.valid).argmax()

    greedy = wafer.run(small, job, volume="3x", policy=Greedy())
    assert wafer.run(small, job, volume="3x", policy=Negates()).digest == greedy.digest


def test_the_destination_is_asked_for_each_collection(small, two_jobs):
    asked = {"victims": [], "destinations": [], "classes": set()}

    class Apart(Greedy):
        classes = 2

        def select_victim(self, rus):
            asked["victims"].append(int(rus.ru[rus.valid.argmin()]))
            return rus.valid.argmin()

        def select_destination(self, rus, victim):
            asked["destinations"].append(int(rus.ru[victim]))
            asked["classes"].update(rus.generation.tolist())
            return None if len(asked["destinations"]) % 3 == 0 else int(rus.age[victim] > 20_000)

    run = wafer.run(small.replace(overprovisioning=0.6), two_jobs, volume="6x", policy=Apart())
    collections = run.summary["forced_gc"] + run.summary["background_gc"]
    assert len(asked["destinations"]) == collections > 50
    assert set(asked["destinations"]) <= set(asked["victims"])
    assert asked["classes"] == {0, 1, 2}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda rus: 3, "select_destination returned 3; there are 3 classes, counted from 0"),
        (lambda rus: -1, "select_destination returned -1; there are 3 classes"),
        (lambda rus: 256, "select_destination returned 256; there are 3 classes"),
        (lambda rus: "cold", "select_destination returned 'cold', which is not a class; return an integer"),
        (lambda rus: 1.0, "returned 1.0, which is not a class"),
        (lambda rus: rus.nothing, "nothing"),
    ],
)
def test_invalid_destinations_raise_errors(small, two_jobs, answer, message):
    class Nonsense(ByGeneration):
        def select_destination(self, rus, victim):
            return answer(rus)

    device = small.replace(overprovisioning=0.6)
    with pytest.raises((wafer.PolicyError, AttributeError), match=message) as raised:
        wafer.run(device, two_jobs, volume="20x", policy=Nonsense())
    assert "\n" not in str(raised.value)


def test_the_default_is_one_class(small, two_jobs):
    class Two(Greedy):
        def select_destination(self, rus, victim):
            return 1

    with pytest.raises(wafer.PolicyError, match="returned 1; there is 1 class, counted from 0"):
        wafer.run(small, two_jobs, volume="6x", policy=Two())

    class Nine(ByGeneration):
        classes = 9

    with pytest.raises(wafer.ConfigError, match="classes: expected a whole number from 1 to 8, not 9"):
        wafer.run(small, two_jobs, volume="6x", policy=Nine())

    class Both(ByGeneration):
        destination = "host"

    with pytest.raises(wafer.ConfigError, match='classes = 3 needs destination = "generation"'):
        wafer.run(small, two_jobs, volume="6x", policy=Both())
