// Thins points for the screen without hiding peaks: each bucket keeps its first, lowest, highest and last point.

/** Returns the index of the first x that is at least `value`. */
export function lowerBound(x, value) {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the index of the x nearest to `value`, or -1 if there is no x. */
export function nearest(x, value) {
  const right = lowerBound(x, value);
  if (right === x.length) return x.length - 1;
  return right > 0 && value - x[right - 1] < x[right] - value ? right - 1 : right;
}

/**
 * Returns the indices of the points to draw between two x, plus one on either side, so that lines extend to the
 * edges. A bucket with a gap (NaN) keeps one index of it, so that the line is broken there.
 */
export function thin(x, y, from, to, buckets) {
  const start = Math.max(0, lowerBound(x, from) - 1);
  let end = lowerBound(x, to);
  while (end < x.length && x[end] <= to) end += 1;
  end = Math.min(x.length, end + 1);
  const count = end - start;
  if (count <= 4 * buckets) return Array.from({ length: Math.max(0, count) }, (_, i) => start + i);
  const kept = [];
  for (let b = 0; b < buckets; b += 1) {
    const first = start + Math.floor((b * count) / buckets);
    const past = start + Math.floor(((b + 1) * count) / buckets);
    let least = -1;
    let most = -1;
    let gap = -1;
    for (let i = first; i < past; i += 1) {
      const value = y[i];
      if (value !== value) gap = i;
      else {
        if (least < 0 || value < y[least]) least = i;
        if (most < 0 || value > y[most]) most = i;
      }
    }
    const of = [...new Set([first, least, most, gap, past - 1])].filter((i) => i >= 0);
    kept.push(...of.sort((a, b) => a - b));
  }
  return kept;
}
