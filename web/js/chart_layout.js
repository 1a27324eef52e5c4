// The layout of charts on the page, in exports and on pages without JavaScript: sizes in pixels, tick steps, and texts.
// The text after the equals sign is strict JSON, which wafer-web reads for static charts.
export const LAYOUT = {
  "width": 900, "left": 64, "right": 20, "top": 36, "bottom": 370, "below": 50,
  "title": 20, "tick_x": 16, "tick_y": [6, 4], "axis_x": 36, "axis_y": 16,
  "legend": { "line": 18, "sample": 26, "label": 34 },
  "end": 4,
  "ticks": { "x": 8, "y": 6, "steps": [1, 2, 2.5, 5, 10] },
  "host_writes": { "capacities": "host writes (multiples of the logical capacity)", "gigabytes": "host writes (GB)" },
  "waf": { "label": "WAF", "cumulative": "cumulative WAF", "instantaneous": "instantaneous WAF", "clamped": "clamped WAF" }
};
