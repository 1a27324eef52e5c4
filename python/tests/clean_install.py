"""Tests a wheel as a new user installs it, in a fresh environment.

    python python/tests/clean_install.py WHEEL ENVIRONMENT

Run by ``make python``. Fails unless only NumPy and tqdm are installed with it, ``import wafer`` imports no
package of the extras, the ``wafer`` command works and gives the same run as Python, and the blocks of the
first tutorials run.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Pages that need nothing but the package.
TUTORIALS = ("first-run.md", "python.md")
JOB = "[w]\nrw=randwrite\nbs=4k\nsize=100%\nnorandommap=1\ntime_based=1\nruntime=1d\n"

# Runs inside the environment.
LOOK = """
import importlib.metadata, json, sys

import wafer
wafer.sweep, wafer.calibrate, wafer.stats, wafer.endurance, wafer.figures
device = wafer.Device("warp", capacity="256MiB", reclaim_unit_size="4MiB", overprovisioning=0.3)
result = wafer.run(device, wafer.fio("job.fio"), volume="3x", seed=7)
try:
    result.plot()
    told = "nothing"
except wafer.MissingExtra as error:
    told = str(error)
print(json.dumps({
    "packages": sorted(d.metadata["Name"].lower() for d in importlib.metadata.distributions()),
    "modules": sorted(m for m in sys.modules if "." not in m),
    "digest": result.digest,
    "told": told,
    "typed": (__import__("pathlib").Path(wafer.__file__).parent / "py.typed").exists(),
    "place": wafer.__file__,
}))
"""
HEAVY = {"pandas", "polars", "matplotlib", "scipy", "dask", "distributed", "ray", "optuna"}


def main(package: Path, environment: Path) -> None:
    """Makes the environment, installs the package and checks it."""
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    binaries = environment / "bin"
    pip = [binaries / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", package], check=True)
    (environment / "job.fio").write_text(JOB)
    inside = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    look = [binaries / "python", "-c", LOOK]
    done = subprocess.run(look, cwd=environment, env=inside, check=True, stdout=subprocess.PIPE)
    seen = json.loads(done.stdout)
    assert set(seen["packages"]) <= {"wafer", "numpy", "tqdm", "tomli", "tomli_w", "pip", "setuptools"}, seen[
        "packages"
    ]
    assert seen["place"].startswith(str(environment.resolve())), seen["place"]
    assert not HEAVY & set(seen["modules"]), seen["modules"]
    told = seen["told"]
    assert told == "matplotlib is not installed; in a clone of wafer: pip install '.[analysis]'", told
    assert seen["typed"]

    sets = ["capacity=256MiB", "reclaim_unit.size=4MiB", "overprovisioning=0.3"]
    command = [binaries / "wafer", "--quiet", "run", "--device", "warp", "--fio", "job.fio", "--volume", "3x"]
    command += [part for value in sets for part in ("--set", value)] + ["--seed", "7", "--json", "-"]
    done = subprocess.run(command, cwd=environment, env=inside, check=True, stdout=subprocess.PIPE)
    assert json.loads(done.stdout)["digest"] == seen["digest"]
    wrong = subprocess.run(
        [binaries / "wafer", "run", "--device", "nothing"], capture_output=True, env=inside
    )
    assert wrong.returncode == 2, wrong
    tutorials = [ROOT / "docs" / "tutorials" / name for name in TUTORIALS]
    tools = {"WAFER": str(binaries / "wafer"), "PYTHON": str(binaries / "python")}
    subprocess.run(
        [sys.executable, ROOT / "scripts" / "check-docs", "commands", *tutorials],
        env={**inside, **tools},
        check=True,
    )
    print(f"{package.name} alone runs as its command does")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).absolute())
