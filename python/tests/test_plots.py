"""Plots for papers: the gallery of the documentation, names, colours, and files that can be edited."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from test_figures import names
from test_sweeps import base

import wafer

pytest.importorskip("matplotlib")

from wafer import _colours, plot

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "how-to" / "plots.md"
IMAGES = ROOT / "docs" / "images" / "plots"


def texts(path):
    """Returns the texts of an SVG; fails if they were converted to shapes."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text())


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """Runs the blocks of the page in one folder, one after another."""
    folder = tmp_path_factory.mktemp("gallery")
    (folder / "configs").symlink_to(ROOT / "configs")
    page = GALLERY.read_text()
    scope = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
            exec(compile(block, str(GALLERY), "exec"), scope)
    return folder, re.findall(r"\(\.\./images/plots/([\w-]+)\.svg\)", page)


def test_every_picture_is_what_its_block_draws(gallery):
    folder, pictures = gallery
    assert len(pictures) >= 5
    assert sorted(path.stem for path in IMAGES.glob("*.svg")) == sorted(pictures)
    for name in pictures:
        made, shown = folder / f"{name}.svg", IMAGES / f"{name}.svg"
        assert texts(made), f"{name}: its text cannot be edited"
        assert texts(made) == texts(shown), f"{name}: `make gallery` draws it again"


def test_files_are_reproducible_and_editable(gallery):
    folder, _ = gallery
    pdf = (folder / "policies.pdf").read_bytes()
    assert b"/Type3" not in pdf
    assert b"CreationDate" not in pdf
    svg = (folder / "policies.svg").read_text()
    assert "<dc:date>" not in svg
    with pytest.raises(wafer.ConfigError, match=r"x\.docx: no format '\.docx'; known: "):
        plot.save(plot.axes(), folder / "x.docx")


def test_colours_are_those_of_the_report_page():
    source = (ROOT / "web" / "js" / "palette.js").read_text()
    light = re.search(r"\"light\": \[([^\]]*)\]", source)[1]
    assert re.findall(r"#\w{6}", light) == list(_colours.COLOURS)
    assert _colours.GC in source
    assert plot.handle_colour(1) == plot.handle_colour("1") == plot.COLOURS[1]
    assert plot.handle_colour(9) == plot.COLOURS[1]
    assert plot.handle_colour("gc") == _colours.GC


def test_a_handle_has_its_colour(small, two_jobs):
    ax = wafer.run(small, two_jobs, volume="4x").plot(handles=True)
    colours = {line.get_label(): line.get_color() for line in ax.lines}
    assert colours["handle 1"] == plot.COLOURS[1]
    assert colours["GC open RU"] == _colours.GC
    assert names(ax) == {"device", "handle 0", "handle 1", "GC open RU"}


def test_what_has_no_curve_has_no_name(small, two_jobs):
    first = wafer.run(small, two_jobs, volume="1x")
    assert first.handles["gc"].total_host_bytes == 0
    names = [line.get_label() for line in plot.result(first, handles=True).lines]
    assert names == ["device", "handle 0", "handle 1"]
    assert ">GC<" not in first._repr_html_()


def test_names_do_not_overlap():
    ax = plot.axes()
    for number in range(6):
        ax.plot([0, 1], [1, 2 + 0.001 * number], label=f"line {number}")
    plot.label_lines(ax)
    plot.label_lines(ax)
    ax.figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
    assert len(boxes) == 6
    assert all(low.y1 <= high.y0 + 2 for low, high in zip(boxes, boxes[1:]))


def test_intervals_are_bands(tmp_path):
    sweep = wafer.sweep(base(grid={"overprovisioning": [0.3, 0.4, 0.5]}, seeds=3), out=tmp_path)
    ax = plot.sweep(sweep, "overprovisioning")
    (band,) = ax.collections
    summary = sweep.summary()
    low, high = band.get_paths()[0].vertices[:, 1].min(), band.get_paths()[0].vertices[:, 1].max()
    assert low == pytest.approx(min(s.mean.low for s in summary))
    assert high == pytest.approx(max(s.mean.high for s in summary))


def test_a_heat_map_shows_every_point(tmp_path):
    grid = {"overprovisioning": [0.3, 0.4, 0.5], "gc_forced_free": [0.03, 0.04]}
    sweep = wafer.sweep(base(grid=grid), out=tmp_path / "numbers")
    ax = plot.heatmap(sweep, "overprovisioning", "gc_forced_free")
    cells = np.asarray(ax.images[0].get_array())
    assert cells.shape == (2, 3)
    wanted = {(r["device.gc.forced_free"], r["device.overprovisioning"]): r["waf"] for r in sweep}
    assert cells.ravel().tolist() == [wanted[key] for key in sorted(wanted)]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.3", "0.4", "0.5"]
    assert ax.collections, "contours"
    named = wafer.sweep(
        base(grid={"overprovisioning": [0.3, 0.5], "gc_policy": ["greedy", "random"]}), out=tmp_path / "names"
    )
    ax = plot.heatmap(named, "overprovisioning", "gc_policy")
    assert [text.get_text() for text in ax.texts] == [f"{v:.3g}" for v in np.ravel(ax.images[0].get_array())]
    with pytest.raises(wafer.ConfigError, match="no single key"):
        plot.heatmap(named, "overprovisioning", "seed")


def test_small_multiples_share_a_scale(small, job):
    runs = [
        wafer.run(small.replace(gc_policy=p), job, volume="4x")
        for p in ("greedy", "random", "fifo", "d-choices")
    ]
    panels = plot.multiples(runs, columns=3)
    assert len(panels) == 4
    assert len({panel.get_ylim() for panel in panels}) == 1
    assert [panel.get_title() for panel in panels] == wafer.labels(runs)
    assert all(len(panel.lines) == 4 for panel in panels)
    assert panels[0].figure.get_figwidth() <= plot.TWO_COLUMNS
    with pytest.raises(wafer.ConfigError, match="labels: 1 for 4 results"):
        plot.multiples(runs, labels=["one"])
    with pytest.raises(wafer.ConfigError, match="results: none given"):
        plot.multiples([])
    with pytest.raises(wafer.ConfigError, match="columns: expected a whole number from 1, not 0"):
        plot.multiples(runs, columns=0)


def test_sizes_are_those_of_columns():
    assert plot.axes().figure.get_figwidth() == plot.ONE_COLUMN == 3.5
    assert plot.axes(width=plot.TWO_COLUMNS).figure.get_figwidth() == 7.16
    assert "matplotlib" in sys.modules
    for size in (-1, 0, "a", np.nan):
        for name in ("width", "height"):
            with pytest.raises(wafer.ConfigError, match=f"^{name}: expected "):
                plot.axes(**{name: size})


def test_only_figures_are_saved(tmp_path):
    for wrong in (None, "x", [plot.axes()]):
        with pytest.raises(TypeError, match=r"^made: expected axes or a figure, not "):
            plot.save(wrong, tmp_path / "x.svg")
    with pytest.raises(TypeError, match=r"^paths: expected a path, not 1$"):
        plot.save(plot.axes(), 1)
