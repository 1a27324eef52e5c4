"""Runs the notebooks, which assert what they claim, and compares numbers with the `.ipynb` beside them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.py"))
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def cells(notebook):
    """Returns the sources of the cells."""
    return ["".join(cell["source"]).strip() for cell in notebook["cells"]]


def printed(notebook):
    """Returns everything that cells printed or returned as text, without markup and random names."""
    texts = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error", output
            data = output.get("data", {})
            parts = [output.get("text", ""), data.get("text/markdown", ""), data.get("text/html", "")]
            texts.append(re.sub(r"<svg.*?</svg>|<[^>]*>|/tmp/tmp\w+", "", "".join("".join(p) for p in parts)))
    return "\n".join(texts)


def test_each_has_its_outputs():
    assert len(NOTEBOOKS) >= 5
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == [path.stem for path in NOTEBOOKS]
    for path in FOLDER.glob("*.ipynb"):
        assert path.stat().st_size < 150_000, f"{path.name} is large"
        first = json.loads(path.read_text())["cells"][0]
        assert first["cell_type"] == "markdown", f"{path.name} begins without its title"
        assert "".join(first["source"]).startswith("# ")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, tmp_path):
    pytest.importorskip("marimo")
    made = tmp_path / f"{path.stem}.ipynb"
    command = [sys.executable, "-m", "marimo", "export", "ipynb", path, "--sort", "top-down"]
    command += ["--output", made, "--include-outputs"]
    environment = {"MPLBACKEND": "Agg", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ours, kept = json.loads(made.read_text()), json.loads(path.with_suffix(".ipynb").read_text())
    assert cells(ours) == cells(kept), "`make notebooks` writes the .ipynb again"
    found, wanted = (list(map(float, NUMBER.findall(printed(notebook)))) for notebook in (ours, kept))
    assert len(wanted) >= 3
    # Linear algebra libraries differ in the last digits.
    assert found == pytest.approx(wanted, rel=0.02, abs=0.01)
