// Colours and dashes of series, colours of shares, and the page's own.

import { PALETTE } from "./palette.js";

/** Cividis (Nuñez, Anderton and Renslow, 2018) at nine points: lighter means more, even without colour. */
const CIVIDIS = [
  [0, 34, 78], [18, 53, 112], [59, 73, 109], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [167, 157, 118], [200, 182, 104], [255, 234, 70],
];

let printing = false;

/** Sets whether the page is being printed, which is always in light colours. */
export function setPrinting(on) {
  printing = on;
}

/** Returns whether the page is dark, by choice or by the system's setting. */
export function isDark() {
  if (printing) return false;
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Index of the series of data that GC moved: dotted, in a colour that no handle has. */
export const GC = -1;

/** Index of the series of an earlier run, for comparison with the current one. */
export const EARLIER = -2;

/** Returns the series of a handle by its key: the same wherever the handle appears. */
export function handleIndex(key) {
  const number = Number(key);
  // Handle names in a record are arbitrary; only numbers have their own colours.
  return key === "gc" ? GC : Number.isInteger(number) && number >= 0 ? number : 0;
}

/** Number of series with a unique colour and dash: each colour combines with each dash once. */
export const MOST_SERIES = PALETTE.light.length * PALETTE.dashes.length;

/** Returns the colour of series `i`. */
export function colour(i) {
  if (i === GC) return page().gc;
  if (i === EARLIER) return page().earlier;
  const colours = isDark() ? PALETTE.dark : PALETTE.light;
  return colours[i % colours.length];
}

/** Returns the dash pattern of series `i`. Each time the colours repeat, they start with the next dash. */
export function dash(i) {
  const { light, dashes, gc } = PALETTE;
  if (i === EARLIER) return [];
  return i === GC ? gc.dash : dashes[(i + Math.floor(i / light.length)) % dashes.length];
}

/** Returns the colour of a share between 0 and 1 as [r, g, b]. */
export function share(value) {
  const at = Math.min(1, Math.max(0, value)) * (CIVIDIS.length - 1);
  const low = Math.min(CIVIDIS.length - 2, Math.floor(at));
  return CIVIDIS[low].map((c, i) => Math.round(c + (at - low) * (CIVIDIS[low + 1][i] - c)));
}

/** Parses #rrggbb into [r, g, b]. */
export function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/** Interpolates between two colours. */
export function mix(from, to, share) {
  return from.map((c, i) => Math.round(c + share * (to[i] - c)));
}

/** Formats [r, g, b] for CSS and SVG. */
export function css([r, g, b]) {
  return `rgb(${r},${g},${b})`;
}

/** Returns the relative luminance of a colour (WCAG 2.2). */
function luminance(channels) {
  const [r, g, b] = channels.map((c) => (c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Returns black or white, whichever has the higher contrast on a colour: at least 4.5 to 1. */
export function textOn(channels) {
  const light = luminance(channels) + 0.05;
  return light / 0.05 > 1.05 / light ? "#000" : "#fff";
}

/** The page's own colours. */
export function page() {
  const dark = isDark();
  return dark
    ? { text: "#e6e6e6", grid: "#3a3f45", back: "#16191d", free: "#23282e", earlier: "#858e97", gc: PALETTE.gc.dark }
    : { text: "#1b1f23", grid: "#d9dde1", back: "#ffffff", free: "#eef0f2", earlier: "#80888f", gc: PALETTE.gc.light };
}
