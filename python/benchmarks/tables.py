"""Markdown tables of calibration results."""

from pathlib import Path

#: Headings of the cells of `fit_cells`.
FIT_HEADS = ("over-provisioning", "RUs", "net spare", "rms, fitted", "largest, rest", "runs", "s")


def interval(bounds, digits, truth=None):
    """Formats a value and its interval, after the true value if known; bold if that lies outside."""
    value, low, high = (f"{number:.{digits}f}" for number in (bounds.value, bounds.low, bounds.high))
    text = f"{value} ({low}-{high})"
    if truth is None:
        return text
    text = f"{truth:.{digits}f}: {text}"
    return text if truth in bounds else f"**{text}**"


def fit_cells(fit, truth=None):
    """Returns the cells of a fit; `truth` holds the true values by name."""
    known = truth or {}
    cells = [
        interval(fit.intervals[name], digits, known.get(name))
        for name, digits in (("overprovisioning", 3), ("reclaim_unit_count", 0), ("net_spare", 4))
    ]
    rest = "" if fit.prediction_error is None else f"{100 * fit.prediction_error:.2f} %"
    return [*cells, f"{100 * fit.error:.2f} %", rest, str(fit.runs), f"{fit.seconds:.0f}"]


def markdown(heads, rows):
    """Formats a table; columns after the first two are right-aligned."""
    rule = ["---"] * 2 + ["--:"] * (len(heads) - 2)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [heads, rule, *rows]) + "\n"


def publish(text, path: Path | None):
    """Prints a text, and writes it to a file if a path is given."""
    print(text)
    if path is not None:
        path.write_text(text)
