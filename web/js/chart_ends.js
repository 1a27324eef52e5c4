// Where the series of a chart end: a mark and its label for each that ends before the others.

/** Longer labels are cut in the chart; the legend has them whole. */
const MOST = 28;

/** The first characters of a text that is longer. */
export const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** The visible ends of series that end early: [{ x, y, text, series }]. */
export function endings(chart) {
  const [from, to] = chart.visible();
  return chart.series.filter((s) => chart.endsEarly(s)).flatMap((series) => {
    let last = series.y.length - 1;
    while (last >= 0 && series.y[last] !== series.y[last]) last -= 1;
    const x = series.x[last];
    if (last < 0 || x < from || x > to) return [];
    const { label } = series;
    return [{ x, y: series.y[last], text: cut(label, MOST), series }];
  });
}

/**
 * Gives each label a place beside its mark within `area`, no two on each other: to the right of the mark where there
 * is room, else to its left. `px`, `py` and `width` are those of mark and text in pixels.
 */
export function placeLabels(marks, { left: least, right: most, top: highest, bottom: lowest, line }) {
  const placed = [];
  for (const mark of [...marks].sort((a, b) => a.py - b.py)) {
    const { px, py, width } = mark;
    const gap = line / 2;
    const left = px + gap + width <= most ? px + gap : Math.max(least, px - gap - width);
    const within = (top) => Math.min(lowest - gap, Math.max(highest + gap, top));
    const free = (top) => placed.every((p) => left + width < p.left || p.left + p.width < left || Math.abs(p.top - top) >= line);
    const tries = Array.from({ length: 40 }, (_, i) => within(py + (i % 2 ? -1 : 1) * Math.ceil(i / 2) * line));
    const top = tries.find(free);
    // A chart full of labels: the mark stays, the legend names it.
    if (top === undefined) placed.push({ ...mark, text: "", left, width: 0, top: within(py) });
    else placed.push({ ...mark, left, top });
  }
  return placed;
}
