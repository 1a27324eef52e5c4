"""Small tables and charts for notebooks: plain HTML with an inline SVG, no scripts and no libraries."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["Line", "chart", "page", "table"]

WIDTH, HEIGHT = 420, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 38, 96, 8, 30
#: Maximum number of points of a line: more cannot be distinguished.
_POINTS = 200

#: Label, colour, x and y values.
Line = tuple[str, str, Any, Any]


def page(title: str, *parts: str) -> str:
    """Returns a titled block of parts that are HTML already."""
    return f'<div style="font-size:13px"><strong>{html.escape(title)}</strong>{"".join(parts)}</div>'


def table(rows: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """Returns a table of names and values, or of rows."""
    if isinstance(rows, Mapping):
        left = 'style="text-align:left"'
        body = "".join(f"<tr><th {left}>{_text(k)}</th><td>{_text(v)}</td></tr>" for k, v in rows.items())
        return f"<table>{body}</table>"
    keys = list(dict.fromkeys(key for row in rows for key in row))
    head = "".join(f"<th>{_text(key)}</th>" for key in keys)
    body = "".join("<tr>" + "".join(f"<td>{_text(row.get(k))}</td>" for k in keys) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    if isinstance(value, float):
        value = f"{value:.4g}"
    return html.escape("" if value is None else str(value))


def chart(lines: Iterable[Line], x: str, y: str, *, dots: bool = False) -> str:
    """Returns an SVG of lines, each with its name at its end; empty without a finite point."""
    kept = []
    for label, colour, xs, ys in lines:
        at, value = np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)
        finite = np.isfinite(at) & np.isfinite(value)
        at, value = at[finite], value[finite]
        if len(at):
            step = max(1, -(-len(at) // _POINTS))
            kept.append((label, colour, at[::-1][::step][::-1], value[::-1][::step][::-1]))
    if not kept:
        return ""
    x_low, x_high = _span([at for _, _, at, _ in kept])
    y_low, y_high = _span([value for _, _, _, value in kept])
    across, down = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM

    def place(at: Any, value: Any) -> tuple[Any, Any]:
        return (
            _LEFT + across * (at - x_low) / (x_high - x_low),
            _TOP + down * (1 - (value - y_low) / (y_high - y_low)),
        )

    drawn, ends = [], []
    for label, colour, at, value in kept:
        px, py = place(at, value)
        if dots:
            drawn += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in zip(px, py)]
        else:
            points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(px, py))
            drawn.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        ends.append([float(py[-1]), label, colour])
    drawn += _labels(ends)
    axis = [
        f'<path d="M{_LEFT} {_TOP}V{_TOP + down}H{_LEFT + across}" fill="none" stroke="currentColor" '
        'opacity=".5"/>',
        _note(_LEFT, HEIGHT - _BOTTOM + 14, f"{x_low:.3g}", "middle"),
        _note(_LEFT + across, HEIGHT - _BOTTOM + 14, f"{x_high:.3g}", "middle"),
        _note(_LEFT + across / 2, HEIGHT - 3, x, "middle"),
        _note(_LEFT - 4, _TOP + down, f"{y_low:.3g}", "end"),
        _note(_LEFT - 4, _TOP + 9, f"{y_high:.3g}", "end"),
        _note(_LEFT + 5, _TOP + 9, y, "start"),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{html.escape(y)} over {html.escape(x)}" '
        'style="display:block;max-width:100%;height:auto;font:11px sans-serif">'
        + "".join(axis + drawn)
        + "</svg>"
    )


def _span(values: Sequence[Any]) -> tuple[float, float]:
    low, high = min(float(v.min()) for v in values), max(float(v.max()) for v in values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _labels(ends: list[list[Any]]) -> list[str]:
    """Returns the names at the ends of the lines, pushed apart."""
    ends.sort(key=lambda end: end[0])
    last = -1e9
    drawn = []
    for y, label, colour in ends:
        last = max(y, last + 12)
        short = label if len(label) < 16 else f"{label[:14]}…"
        drawn.append(_note(WIDTH - _RIGHT + 5, last + 4, short, "start", colour))
    return drawn


def _note(x: float, y: float, text: str, anchor: str, colour: str = "currentColor") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}">{html.escape(text)}</text>'
