"""The list of runs, and the sources of their records."""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import tomllib
import traces

DATA = Path(__file__).resolve().parent
TIME_LIMIT = 120
ONCE = "--seed", "--volume", "--samples", "--precondition"


class Failed(Exception):
    """A run that did not produce JSON."""


def once(command):
    """Keeps only the last occurrence of options that may be given once."""
    kept = []
    for index, token in enumerate(command):
        if token in ONCE and token in command[index + 1 :]:
            continue
        if index and command[index - 1] in ONCE and command[index - 1] in command[index:]:
            continue
        kept.append(token)
    return kept


class Matrix:
    """The list of runs."""

    def __init__(self):
        with (DATA / "runs.toml").open("rb") as source:
            data = tomllib.load(source)
        self.ignore = data["ignore"]
        self.copied = data["inputs"]["copied"]
        words = data["words"]
        self.renamed = data["renamed"]
        self.runs = {name: self.expanded(line, words) for name, line in data["runs"].items()}

    @staticmethod
    def expanded(line, words):
        """Expands $word by the table of words; returns a list of commands."""
        while "$" in line:
            before, _, rest = line.partition("$")
            word = rest.split()[0]
            line = before + words[word] + rest.removeprefix(word)
        commands, current = [], []
        for token in shlex.split(line):
            if token == "&&":
                commands.append(current)
                current = []
            else:
                current.append(token)
        return [once(command) for command in (*commands, current)]

    def selected(self, pattern):
        """Returns the runs whose name matches."""
        return {name: run for name, run in self.runs.items() if fnmatch.fnmatch(name, pattern)}

    def make_inputs(self, checkout, folder):
        """Copies or writes everything that a run reads into one folder."""
        shutil.copytree(DATA / "inputs", folder)
        for path in self.copied:
            shutil.copytree(checkout / path, folder / path)
        traces.write(folder / "traces")

    def uncovered(self, binary, checkout):
        """Yields policies and models of the binary, and job files of the checkout, that no run names."""
        text = json.dumps(list(self.runs.values()))
        text += "".join(file.read_text() for file in sorted((DATA / "inputs").rglob("*.toml")))
        words = {word for run in self.runs.values() for command in run for word in command}
        experiments = sorted(word for word in words if re.fullmatch(r"configs/.*\.toml", word))
        text += "".join((checkout / word).read_text() for word in experiments)
        for kind, one in (("policies", "gc.policy={}"), ("models", 'model = "{}"')):
            listed = subprocess.run([binary, kind, "--json"], capture_output=True, check=True).stdout
            for entry in json.loads(listed):
                if one.format(entry["name"]) not in text:
                    yield f"no run has {one.format(entry['name'])}"
        for file in sorted((checkout / "configs/workloads").glob("*.fio")):
            if file.name not in text:
                yield f"no run has the workload {file.name}"


def execute(binary, commands, inputs, renamed):
    """Runs the commands in a new folder; returns the last one's JSON and the seconds they took."""
    for new, old in renamed.items():
        commands = [[re.sub(rf"\b{new}\b", old, token) for token in command] for command in commands]
    with tempfile.TemporaryDirectory(prefix="compare-records-") as scratch:
        for entry in inputs.iterdir():
            os.symlink(entry.resolve(), Path(scratch) / entry.name)
        started = time.monotonic()
        for command in commands:
            output = step([binary, "--quiet", *command], scratch)
        seconds = time.monotonic() - started
    for new, old in renamed.items():
        output = output.replace(f'"{old}"', f'"{new}"')
    try:
        return json.loads(output), seconds
    except json.JSONDecodeError as error:
        raise Failed(f"stdout is not JSON: {error}") from None


def step(command, folder):
    """Runs one command; returns its standard output."""
    try:
        # A drive from the user's cache would show in the record.
        environment = {**os.environ, "WAFER_CACHE": str(Path(folder) / "cache")}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"still running after {TIME_LIMIT} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Failed(f"exit status {done.returncode}: {last}")
    return done.stdout


class Binary:
    """Records from running a binary, kept if requested.

    A binary that lacks a policy's new name is given the old one, and its output is read with the new.
    """

    def __init__(self, path, inputs, renamed, keep=None):
        self.path, self.inputs, self.keep = path, inputs, keep
        has = subprocess.run([path, "policies", "--json"], capture_output=True, check=True, text=True).stdout
        self.renamed = {new: old for new, old in renamed.items() if f'"{new}"' not in has}

    def record(self, name, commands):
        """Returns the run's output and the seconds it took."""
        output, seconds = execute(self.path, commands, self.inputs, self.renamed)
        if self.keep:
            file = self.keep / "records" / f"{name}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"commands": commands, "output": output}) + "\n")
        return output, seconds


class Kept:
    """Records kept by an earlier comparison."""

    def __init__(self, folder):
        self.folder = folder

    def record(self, name, commands):
        """Returns the run's kept output."""
        file = self.folder / "records" / f"{name}.json"
        if not file.is_file():
            raise Failed(f"there is no {file}")
        kept = json.loads(file.read_text())
        if kept["commands"] != commands:
            raise Failed(f"{file} was made by another command line")
        return kept["output"], None
