//! A line chart as SVG. `web/js/chart_svg.js` draws the same chart in a browser, with its zoom and selection;
//! `web/js/chart_layout.js` describes it for both.

use serde::Deserialize;

use super::html::escape;
use crate::report::{json_of, palette};

/// Maximum curves per chart: as many as colours and dashes can distinguish.
pub(super) const MOST_LINES: usize = 64;
/// Maximum points per curve.
const MOST_POINTS: usize = 300;

/// Maximum curves that are labeled at their ends; the legend names more.
const MOST_LABELLED: usize = 6;
/// The mean width of a character of a label.
const CHARACTER: f64 = 6.7;

/// x and y; y is `None` in a gap.
type Point = (f64, Option<f64>);

/// A curve.
pub(super) struct Line {
    pub(super) label: String,
    /// Index in the palette; `None` for relocated data.
    pub(super) index: Option<usize>,
    pub(super) x: Vec<f64>,
    /// `None` in a gap.
    pub(super) y: Vec<Option<f64>>,
}

/// A chart.
pub(super) struct Chart<'a> {
    pub(super) layout: &'a Layout,
    pub(super) title: &'a str,
    pub(super) x_label: &'a str,
    pub(super) y_label: &'a str,
    pub(super) lines: Vec<Line>,
}

#[derive(Deserialize)]
struct Palette {
    light: Vec<String>,
    dark: Vec<String>,
    dashes: Vec<Vec<u32>>,
    gc: Gc,
}

#[derive(Deserialize)]
struct Gc {
    light: String,
    dark: String,
    dash: Vec<u32>,
}

/// The layout shared by both implementations.
#[derive(Deserialize)]
pub(super) struct Layout {
    width: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    below: f64,
    title: f64,
    tick_x: f64,
    tick_y: [f64; 2],
    axis_x: f64,
    axis_y: f64,
    legend: Legend,
    end: f64,
    ticks: Ticks,
    pub(super) host_writes: HostWrites,
    pub(super) waf: Waf,
}

#[derive(Deserialize)]
struct Legend {
    line: f64,
    sample: f64,
    label: f64,
}

#[derive(Deserialize)]
struct Ticks {
    x: f64,
    y: f64,
    steps: Vec<f64>,
}

/// The label of the horizontal axis.
#[derive(Deserialize)]
pub(super) struct HostWrites {
    pub(super) capacities: String,
    pub(super) gigabytes: String,
}

/// Texts for WAF.
#[derive(Deserialize)]
pub(super) struct Waf {
    pub(super) label: String,
    pub(super) cumulative: String,
}

/// Returns the layout of charts.
pub(super) fn layout() -> Layout {
    // The file is part of the binary, and a test reads it.
    serde_json::from_str(&json_of("chart_layout.js"))
        .unwrap_or_else(|e| panic!("web/js/chart_layout.js: {e}"))
}

fn the_palette() -> Palette {
    // The file is part of the binary, and a test reads it.
    serde_json::from_str(&palette()).unwrap_or_else(|e| panic!("web/js/palette.js: {e}"))
}

/// Returns the class of a line.
fn class(index: Option<usize>) -> String {
    index.map_or_else(|| "line-gc".to_owned(), |index| format!("line-{}", index % MOST_LINES))
}

/// Returns the style sheet of all lines, light and dark.
pub(crate) fn styles() -> String {
    let palette = the_palette();
    let dashes = |dash: &[u32]| dash.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let mut light = String::new();
    let mut dark = String::new();
    for i in 0..MOST_LINES {
        let colour = i % palette.light.len();
        let dash = dashes(&palette.dashes[(i + i / palette.light.len()) % palette.dashes.len()]);
        let dash = if dash.is_empty() { "none".to_owned() } else { dash };
        light += &format!(".line-{i}{{stroke:{};stroke-dasharray:{dash}}}", palette.light[colour]);
        dark += &format!(".line-{i}{{stroke:{}}}", palette.dark[colour]);
    }
    let gc = &palette.gc;
    light += &format!(".line-gc{{stroke:{};stroke-dasharray:{}}}", gc.light, dashes(&gc.dash));
    dark += &format!(".line-gc{{stroke:{}}}", gc.dark);
    format!("{light}@media screen and (prefers-color-scheme: dark){{{dark}}}")
}

/// Returns round values between two limits, about `count` of them.
fn ticks(low: f64, high: f64, count: f64, steps: &[f64]) -> Vec<f64> {
    let rough = (high - low) / count;
    let power = 10f64.powf(rough.log10().floor());
    let step = steps.iter().map(|m| m * power).find(|step| *step >= rough).unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

fn label(value: f64) -> String {
    let text = format!("{value:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Line {
    /// Returns the points to draw: evenly thinned, including the last one.
    fn points(&self) -> Vec<Point> {
        let all = self.x.len().min(self.y.len());
        let every = all.div_ceil(MOST_POINTS).max(1);
        (0..all)
            .filter(|i| (all - 1 - i).is_multiple_of(every))
            .map(|i| (self.x[i], self.y[i].filter(|y| y.is_finite())))
            .collect()
    }
}

impl Chart<'_> {
    /// Returns the chart, or an empty string if there are no points.
    pub(super) fn svg(&self) -> String {
        let lines: Vec<(&Line, Vec<Point>)> =
            self.lines.iter().map(|line| (line, line.points())).collect();
        let all = || lines.iter().flat_map(|(_, points)| points);
        let high_x = all().map(|(x, _)| *x).fold(0.0, f64::max);
        let ys: Vec<f64> = all().filter_map(|(_, y)| *y).collect();
        if ys.is_empty() || high_x <= 0.0 {
            return String::new();
        }
        let low = ys.iter().copied().fold(1.0, f64::min);
        let high = ys.iter().copied().fold(low, f64::max);
        let room = (high - low).max(0.1) * 0.06;
        let (low, high) = (low - room, high.max(low + 0.1) + room);
        let Layout { width, left, top, bottom, .. } = *self.layout;
        let (layout, legend) = (self.layout, &self.layout.legend);
        let right = width - layout.right;
        let px = |x: f64| left + x / high_x * (right - left);
        let py = |y: f64| bottom - (y - low) / (high - low) * (bottom - top);
        let height = bottom + layout.below + legend.line * lines.len() as f64;
        let words = |x: f64, y: f64, anchor: &str, text: &str| {
            format!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
                escape(text)
            )
        };
        let rule = |x1: f64, y1: f64, x2: f64, y2: f64| {
            format!(
                "<line class=\"grid\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n"
            )
        };
        let mut svg = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Chart: {title}\">\n\
             <svg class=\"still\" role=\"img\" aria-label=\"{title}\" viewBox=\"0 0 {width} {height}\">\n",
            title = escape(self.title)
        );
        svg += &words(left, layout.title, "start", self.title);
        for x in ticks(0.0, high_x, layout.ticks.x, &layout.ticks.steps) {
            svg += &rule(px(x), top, px(x), bottom);
            svg += &words(px(x), bottom + layout.tick_x, "middle", &label(x));
        }
        for y in ticks(low, high, layout.ticks.y, &layout.ticks.steps) {
            svg += &rule(left, py(y), right, py(y));
            svg += &words(left - layout.tick_y[0], py(y) + layout.tick_y[1], "end", &label(y));
        }
        svg += &words((left + right) / 2.0, bottom + layout.axis_x, "middle", self.x_label);
        svg += &format!(
            "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            layout.axis_y,
            (top + bottom) / 2.0,
            escape(self.y_label)
        );
        for (i, (line, points)) in lines.iter().enumerate() {
            let class = class(line.index);
            svg += &format!("<path class=\"{class}\" d=\"{}\"/>\n", path(points, px, py));
            let end = points.iter().rev().find_map(|(x, y)| y.map(|y| (*x, y)));
            if let Some((x, y)) = end.filter(|(x, _)| *x < 0.995 * high_x) {
                let (x, y) = (px(x), py(y));
                svg += &format!(
                    "<circle class=\"end\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{}\"/>\n",
                    layout.end
                );
                if lines.len() <= MOST_LABELLED {
                    let side = layout.tick_y[0];
                    let room = right - x - side;
                    let is_left = CHARACTER * line.label.chars().count() as f64 > room;
                    let (at, anchor) =
                        if is_left { (x - side, "end") } else { (x + side, "start") };
                    svg += &words(at, y + layout.tick_y[1], anchor, &line.label);
                }
            }
            let y = bottom + layout.below + legend.line * i as f64;
            svg += &format!("<path class=\"{class}\" d=\"M{left} {y}h{}\"/>\n", legend.sample);
            svg += &words(left + legend.label, y + layout.tick_y[1], "start", &line.label);
        }
        svg + "</svg>\n</div>\n"
    }
}

/// Returns a path through points; a gap breaks it.
fn path(points: &[Point], px: impl Fn(f64) -> f64, py: impl Fn(f64) -> f64) -> String {
    let mut d = String::new();
    let mut open = false;
    for (x, y) in points {
        if let Some(y) = y {
            d += &format!("{}{:.1} {:.1}", if open { 'L' } else { 'M' }, px(*x), py(*y));
        }
        open = y.is_some();
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let steps = layout().ticks.steps;
        assert_eq!(ticks(0.94, 3.6, 6.0, &steps), [1.0, 1.5, 2.0, 2.5, 3.0, 3.5]);
        assert_eq!(ticks(0.0, 8.0, 8.0, &steps), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    }

    #[test]
    fn a_gap_breaks_the_line_and_every_line_has_its_own_style() {
        let points = [(0.0, Some(1.0)), (1.0, None), (2.0, Some(2.0)), (3.0, Some(3.0))];
        assert_eq!(path(&points, |x| x, |y| y), "M0.0 1.0M2.0 2.0L3.0 3.0");
        let styles = styles();
        let light = styles.split("@media").next().unwrap();
        let rules: Vec<&str> = light
            .split('}')
            .filter_map(|rule| rule.split_once('{'))
            .map(|(_, rule)| rule)
            .collect();
        let different: std::collections::BTreeSet<&&str> = rules.iter().collect();
        assert_eq!((rules.len(), different.len()), (MOST_LINES + 1, MOST_LINES + 1));
    }

    #[test]
    fn a_chart_without_points_is_nothing() {
        let line = Line { label: "a".to_owned(), index: Some(0), x: vec![], y: vec![] };
        let chart =
            Chart { layout: &layout(), title: "t", x_label: "x", y_label: "y", lines: vec![line] };
        assert_eq!(chart.svg(), "");
    }
}
