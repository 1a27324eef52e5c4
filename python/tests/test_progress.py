"""Progress: a bar in a terminal, a line a minute elsewhere, a widget in a notebook."""

import io
import time

import pytest

import wafer
from wafer.progress import Bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def drawn(bar, seconds, stage="running", total=1000):
    """Updates a bar a hundred times a second and returns the number of updates."""
    # The first imports tqdm, which may take longer than the bar is drawn.
    bar.update(stage, 0, total)
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        count += 1
        bar.update(stage, count, total)
        time.sleep(0.01)
    return count


def test_a_file_gets_a_line_a_minute(monkeypatch):
    assert Bar.BETWEEN_LINES == 60
    monkeypatch.setattr(Bar, "BETWEEN_LINES", 0.25)
    stream = io.StringIO()
    bar = Bar("name", "runs", stream)
    updates = drawn(bar, 1.1)
    bar.close()
    lines = stream.getvalue().splitlines()
    assert 2 <= len(lines) <= 4 < updates, lines
    assert all(line.startswith("name: running:") for line in lines)
    assert all("/1000" in line and " runs/s" in line for line in lines)
    assert "\r" not in stream.getvalue()


def test_a_short_run_prints_nothing_to_a_file():
    stream = io.StringIO()
    bar = Bar("name", stream=stream)
    drawn(bar, 0.2)
    bar.close()
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar_that_vanishes(monkeypatch):
    monkeypatch.setattr(Bar, "DELAY", 0.1)
    stream = Terminal()
    bar = Bar("name", stream=stream)
    drawn(bar, 0.5, total=10**9)
    drawn(bar, 0.5, "then", None)
    bar.close()
    frames = stream.getvalue().split("\r")
    assert any("name: running:   0%" in frame and "1.00G" in frame for frame in frames)
    assert any(frame.startswith("name: then:") and "B/s" in frame for frame in frames)
    assert frames[-1] == ""
    assert frames[-2].strip() == ""


def test_rates_are_smoothed(monkeypatch):
    monkeypatch.setattr(Bar, "BETWEEN_LINES", 0.05)
    bar = Bar("name", "runs", io.StringIO())
    drawn(bar, 0.3)
    before = bar._bar.format_dict["rate"]
    # A burst changes the rate only partly: about 100 per second, then 100,000.
    time.sleep(0.06)
    bar.update("running", bar._bar.n + 6000, 10**6)
    after = bar._bar.format_dict["rate"]
    assert 50 < before < 110
    assert before < after < 80_000


def test_a_notebook_gets_a_widget(monkeypatch):
    auto = pytest.importorskip("tqdm.auto")
    made = []

    class Widget:
        def __init__(self, **how):
            made.append(how)
            self.n = 0

        def update(self, count):
            self.n += count

        def close(self):
            made.append("closed")

    Widget.__module__ = "tqdm.notebook"
    monkeypatch.setattr(auto, "tqdm", Widget)
    bar = Bar("name", "runs")
    bar.update("running", 1, 2)
    bar.close()
    assert made[0]["desc"] == "name: running"
    assert "file" not in made[0]
    assert made[1] == "closed"


def test_a_run_shows_it(small, job, capsys, monkeypatch):
    monkeypatch.setattr(Bar, "BETWEEN_LINES", 0.01)
    wafer.run(small, job, volume="100x", progress=True)
    told = capsys.readouterr()
    assert told.out == ""
    assert "running" in told.err
    assert "B/s" in told.err
