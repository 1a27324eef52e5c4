"""The package: import time, types, documentation."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import wafer

HEAVY = ("pandas", "polars", "matplotlib", "scipy", "dask", "distributed", "ray", "optuna")


def python(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True)


def test_importing_needs_numpy_alone():
    program = f"import sys, wafer; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert python("-c", program).stdout.strip() == "[]"
    # The import also works if they are not installed.
    blocked = "\n".join(f"sys.modules[{name!r}] = None" for name in HEAVY)
    program = (
        f"import sys\n{blocked}\nimport wafer\n"
        "wafer.sweep, wafer.calibrate, wafer.stats, wafer.endurance\n"
        "try:\n    wafer.Result.plot\n    from wafer.plot import style\n    style.axes()\n"
        "except wafer.MissingExtra as error:\n    print(error)\n"
    )
    done = python("-c", program)
    assert done.returncode == 0, done.stderr
    told = done.stdout.strip()
    assert told == "matplotlib is not installed; in a clone of wafer: pip install '.[analysis]'"


def test_a_command_that_is_not_built_in_says_how_to_get_it():
    done = python("-m", "wafer", "serve", "--device", "warp")
    assert done.returncode == 2
    assert "unrecognized subcommand 'serve'" in done.stderr
    how = "`cargo build --release -p wafer-cli` has them"
    assert how in done.stderr
    done = python("-m", "wafer", "figures")
    assert done.returncode == 2
    assert how not in done.stderr


def test_importing_takes_little_longer_than_numpy():
    """The limit is relative to NumPy's import, which is part of it, because seconds depend on the machine."""

    def seconds(module):
        program = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        return float(python("-c", program).stdout)

    turns = [(seconds("numpy"), seconds("wafer")) for _ in range(5)]
    numpy, own = (min(column) for column in zip(*turns, strict=True))
    assert own < numpy * 2 + 0.1


def modules():
    names = [m.name for m in pkgutil.walk_packages(wafer.__path__, "wafer.")]
    return [name for name in names if name not in ("wafer.__main__", "wafer.figures.__main__")]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_there_are_examples_and_docstrings():
    assert doctest.testmod(wafer).attempted >= 4
    for name in wafer.__all__:
        item = getattr(wafer, name)
        if callable(item):
            assert inspect.getdoc(item), name


def test_types(root):
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", "target/mypy"], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_the_stub_matches_the_extension(root):
    pytest.importorskip("mypy")
    done = python("-m", "mypy.stubtest", "wafer._wafer", "--ignore-missing-stub")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("arguments", [("check",), ("format", "--check")])
def test_style(root, arguments):
    pytest.importorskip("ruff")
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *arguments, "python", "notebooks"],
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
