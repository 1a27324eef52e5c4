"""Tables of calibrations, as Markdown."""

from pathlib import Path

#: Heads and alignments of the columns of :func:`found`.
FOUND = ("over-provisioning", "RUs", "net spare", "rms, fitted", "largest, rest", "runs", "s")


def interval(bounds, digits, truth=None):
    """A value with its interval; in bold with a true value that lies outside."""
    value, low, high = (f"{number:.{digits}f}" for number in (bounds.value, bounds.low, bounds.high))
    text = f"{value} ({low}-{high})"
    if truth is None:
        return text
    told = f"{truth:.{digits}f}: {text}"
    return told if truth in bounds else f"**{told}**"


def found(fit, truth=None):
    """What a fit found, as cells; before each number the true one, by name in `truth`, if it is known."""
    known = truth or {}
    cells = [
        interval(fit.intervals[name], digits, known.get(name))
        for name, digits in (("overprovisioning", 3), ("reclaim_unit_count", 0), ("net_spare", 4))
    ]
    rest = "" if fit.prediction_error is None else f"{100 * fit.prediction_error:.2f} %"
    return [*cells, f"{100 * fit.error:.2f} %", rest, str(fit.runs), f"{fit.seconds:.0f}"]


def markdown(heads, rows):
    """A table; columns after the first two to the right."""
    rule = ["---"] * 2 + ["--:"] * (len(heads) - 2)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [heads, rule, *rows]) + "\n"


def tell(text, path: Path | None):
    """Print a text, and write it where it is wanted."""
    print(text)
    if path is not None:
        path.write_text(text)
