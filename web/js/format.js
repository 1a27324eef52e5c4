// Formats numbers with three digits and a decimal unit, like the terminal.

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Bytes with three digits; the space does not break. */
export function bytes(value) {
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)}\u00a0${UNITS[unit]}`;
}

/** Bytes per second. */
export function rate(value) {
  return `${bytes(value)}/s`;
}

/** WAF with three decimals; a dash where there is none. */
export function waf(value) {
  return Number.isFinite(value) ? value.toFixed(3) : "–";
}

/** A share as percent; the space does not break. */
export function percent(share, digits = share > 0 && share < 0.0995 ? 1 : 0) {
  return `${(100 * share).toFixed(digits)}\u00a0%`;
}

/** A setting without the last digits of a binary fraction: 0.09000000000000001 is 0.09. */
export function tidy(text) {
  return /^-?\d+\.\d{8,}$/.test(text) ? String(Number(Number(text).toPrecision(8))) : text;
}

/** Multiples of the logical capacity. */
export function times(value) {
  return `x${Number(value.toFixed(3))}`;
}

/** Whole numbers with thin spaces between thousands. */
export function count(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** A span of time. */
export function seconds(value) {
  if (value < 0.995) return `${(1000 * value).toFixed(0)} ms`;
  if (value < 99.5) return `${value.toFixed(1)} s`;
  if (value < 5970) {
    const [minutes, rest] = [Math.floor(Math.round(value) / 60), Math.round(value) % 60];
    return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
  }
  return `${(value / 3600).toFixed(1)} h`;
}

/** Microseconds with three digits. */
export function micros(value) {
  if (!Number.isFinite(value)) return "–";
  if (value < 99.95) return `${value.toFixed(1)} µs`;
  if (value < 999.5) return `${value.toFixed(0)} µs`;
  return value < 999500 ? `${Number((value / 1000).toPrecision(3))} ms` : `${Number((value / 1e6).toPrecision(3))} s`;
}

/** The text of a tick, from that of a value: round numbers stand without the digits that values have. */
export function tick(text) {
  return text.replace(/\.?0+(?=[ \u00a0])/, (zeros, at) => (text.slice(0, at).includes(".") || zeros[0] === "." ? "" : zeros));
}
