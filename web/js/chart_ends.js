// Marks and labels for the series of a chart that end before the others.

/** Maximum length of a label in the chart; the legend has whole labels. */
const MOST = 28;

/** Truncates a text to `most` characters. */
export const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** A narrower chart, or one with more series, has no room for labels; only the legend names its lines. */
const NARROW = 500;
const MOST_LABELLED = 6;

/** Shortens labels: in those that are too long, an ellipsis replaces their common beginning. */
export function shortened(labels) {
  const long = labels.filter((label) => label.length > MOST);
  let same = long.length > 1 ? long[0].length : 0;
  for (const label of long) while (!label.startsWith(long[0].slice(0, same))) same -= 1;
  // Cuts only between parts separated by commas, or else between words.
  const common = long[0]?.slice(0, same) ?? "";
  same = /, /.test(common) ? common.lastIndexOf(", ") + 2 : common.search(/[^ /]*$/);
  return labels.map((label) => cut(label.length > MOST && same > 1 ? `…${label.slice(same)}` : label, MOST));
}

/** Returns the visible ends of series that end early, in a chart of this width: [{ x, y, text, series }]. */
export function endings(chart, width) {
  const [from, to] = chart.visible();
  const named = width >= NARROW && chart.series.length <= MOST_LABELLED;
  const labels = shortened(chart.series.map((series) => series.label));
  return chart.series.filter((s) => chart.endsEarly(s)).flatMap((series) => {
    let last = series.y.length - 1;
    while (last >= 0 && series.y[last] !== series.y[last]) last -= 1;
    const x = series.x[last];
    if (last < 0 || x < from || x > to) return [];
    return [{ x, y: series.y[last], text: named ? labels[chart.series.indexOf(series)] : "", series }];
  });
}

/**
 * Places each label beside its mark within `area`, without overlaps: to the right if there is room, otherwise to the
 * left, at most about a line above or below. Leaves out labels that do not fit. `px`, `py` (of the mark) and `width`
 * (of the text) are in pixels.
 */
export function placeLabels(marks, { left: least, right: most, top: highest, bottom: lowest, line }) {
  const placed = [];
  for (const mark of [...marks].sort((a, b) => a.py - b.py)) {
    const { px, py, width } = mark;
    const gap = line / 2;
    const left = px + gap + width <= most ? px + gap : Math.max(least, px - gap - width);
    const within = (top) => Math.min(lowest - gap, Math.max(highest + gap, top));
    const free = (top) => placed.every((p) => p.text === "" || left + width < p.left || p.left + p.width < left || Math.abs(p.top - top) >= line);
    const top = [py, py + 1.2 * line, py - 1.2 * line].map(within).find(free);
    if (mark.text === "" || top === undefined) placed.push({ ...mark, text: "", left, width: 0, top: within(py) });
    else placed.push({ ...mark, left, top });
  }
  return placed;
}
