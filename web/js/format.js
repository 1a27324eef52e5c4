// Formats numbers with three digits and a decimal unit, like the terminal.

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Formats bytes with three digits and a non-breaking space. */
export function bytes(value) {
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)}\u00a0${UNITS[unit]}`;
}

/** Formats bytes per second. */
export function rate(value) {
  return `${bytes(value)}/s`;
}

/** Formats a WAF with three decimals; a dash if there is none. */
export function waf(value) {
  return Number.isFinite(value) ? value.toFixed(3) : "–";
}

/** Formats a share as percent, with a non-breaking space. */
export function percent(share, digits = share > 0 && share < 0.0995 ? 1 : 0) {
  return `${(100 * share).toFixed(digits)}\u00a0%`;
}

/** Formats a setting without the last digits of a binary fraction: 0.09000000000000001 is 0.09. */
export function tidy(text) {
  return /^-?\d+\.\d{8,}$/.test(text) ? String(Number(Number(text).toPrecision(8))) : text;
}

/** Formats multiples of the logical capacity. */
export function times(value) {
  return `x${Number(value.toFixed(3))}`;
}

/** Formats a whole number with thin spaces between thousands. */
export function count(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** Formats a duration. */
export function seconds(value) {
  if (value < 0.995) return `${(1000 * value).toFixed(0)} ms`;
  if (value < 99.5) return `${value.toFixed(1)} s`;
  if (value < 5970) {
    const [minutes, rest] = [Math.floor(Math.round(value) / 60), Math.round(value) % 60];
    return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
  }
  return `${(value / 3600).toFixed(1)} h`;
}

/** Formats microseconds with three digits. */
export function micros(value) {
  if (!Number.isFinite(value)) return "–";
  if (value < 99.95) return `${value.toFixed(1)} µs`;
  if (value < 999.5) return `${value.toFixed(0)} µs`;
  return value < 999500 ? `${Number((value / 1000).toPrecision(3))} ms` : `${Number((value / 1e6).toPrecision(3))} s`;
}

/** Returns the text of a tick from that of its value: round numbers lose their trailing digits. */
export function tick(text) {
  return text.replace(/\.?0+(?=[ \u00a0])/, (zeros, at) => (text.slice(0, at).includes(".") || zeros[0] === "." ? "" : zeros));
}
