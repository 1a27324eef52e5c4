// Colours and dashes of series, in the order in which they are assigned. The text after the equals sign is strict
// JSON: wafer-web exports it as PALETTE, for static charts and for figures outside the page. `light` and `dark` are
// the backgrounds on which a colour has a contrast of at least 3 to 1. The first hues are those of Okabe and Ito
// (2008), which colour-blind people can distinguish, darkened or lightened if too close to the background.
export const PALETTE = {
  "light": ["#0072b2", "#d55e00", "#009e73", "#b5548f", "#8a6d00", "#2b8cbe", "#7f3b08", "#6a51a3"],
  "dark": ["#56b4e9", "#f58b3c", "#2fcf9f", "#e59ac6", "#f0d442", "#9fd3f5", "#d8a47f", "#b9a7e6"],
  "dashes": [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 2], [12, 4], [6, 2, 1, 2]],
  "gc": { "light": "#3f464d", "dark": "#aab2ba", "dash": [3, 3] }
};
