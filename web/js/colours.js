// Colours and dashes of series, colours of shares, and the page's own.

import { PALETTE } from "./palette.js";

/** Cividis (Nuñez, Anderton and Renslow, 2018) at nine points: light means much, also without colour. */
const CIVIDIS = [
  [0, 34, 78], [18, 53, 112], [59, 73, 109], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [167, 157, 118], [200, 182, 104], [255, 234, 70],
];

let printing = false;

/** Says whether the page is being printed: paper is light. */
export function setPrinting(on) {
  printing = on;
}

/** Whether the page is dark: chosen, or as the system says. */
export function isDark() {
  if (printing) return false;
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The series of data that GC moved: no colour of a handle, dotted. */
export const GC = -1;

/** The series of an earlier run that the present one is compared with. */
export const EARLIER = -2;

/** The series of a handle by its key: the same wherever the handle appears. */
export function handleIndex(key) {
  const number = Number(key);
  // A record may name its handles as it likes; only numbers have a colour of their own.
  return key === "gc" ? GC : Number.isInteger(number) && number >= 0 ? number : 0;
}

/** Series with a colour and dash that no other has: every colour is used with every dash once. */
export const MOST_SERIES = PALETTE.light.length * PALETTE.dashes.length;

/** The colour of series `i`. */
export function colour(i) {
  if (i === GC) return page().gc;
  if (i === EARLIER) return page().earlier;
  const colours = isDark() ? PALETTE.dark : PALETTE.light;
  return colours[i % colours.length];
}

/** The dash pattern of series `i`. Each time that the colours begin again, they begin with another dash. */
export function dash(i) {
  const { light, dashes, gc } = PALETTE;
  if (i === EARLIER) return [];
  return i === GC ? gc.dash : dashes[(i + Math.floor(i / light.length)) % dashes.length];
}

/** The colour of a share between 0 and 1 as [r, g, b]. */
export function share(value) {
  const at = Math.min(1, Math.max(0, value)) * (CIVIDIS.length - 1);
  const low = Math.min(CIVIDIS.length - 2, Math.floor(at));
  return CIVIDIS[low].map((c, i) => Math.round(c + (at - low) * (CIVIDIS[low + 1][i] - c)));
}

/** #rrggbb as [r, g, b]. */
export function rgb(hex) {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

/** Between two colours. */
export function mix(from, to, share) {
  return from.map((c, i) => Math.round(c + share * (to[i] - c)));
}

/** [r, g, b] for CSS and SVG. */
export function css([r, g, b]) {
  return `rgb(${r},${g},${b})`;
}

/** Relative luminance of a colour (WCAG 2.2). */
function luminance(channels) {
  const [r, g, b] = channels.map((c) => (c <= 10 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Black or white, whichever has the higher contrast on a colour: 4.5 to 1 at least. */
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
