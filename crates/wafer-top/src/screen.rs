//! The screen of `wafer top`, laid out for the size of the terminal.
//!
//! The facts at the top are broken into lines, so nothing is cut off. Then the table of handles gets the rows it
//! needs; FDP events and charts share the rest. A wide terminal has charts on the left, handles and events on the
//! right; a narrow one has a single column, with charts of bandwidth if there is room.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize as _};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table};
use wafer_interface::Counters;
use wafer_record::Snapshot;
use wafer_record::metrics::Waf;
use wafer_record::record::rfc3339;
use wafer_record::text::printable;

use super::{HANDLES, handles, latencies, units, waf};
use wafer_output as output;

/// Number of values in a chart.
const MEMORY: usize = 512;
/// Minimum width of a terminal with two columns of panes.
const WIDE: u16 = 110;
/// Widths of the table's columns.
const WIDTHS: [u16; 5] = [8, 12, 12, 8, 14];
/// Minimum rows of a readable chart, including borders.
const CHART: u16 = 4;
/// Rows of the events, including borders.
const EVENTS: u16 = 3;

/// Contents of the screen.
#[derive(Default)]
pub(super) struct Screen {
    last: Snapshot,
    before: Option<Snapshot>,
    /// Instantaneous WAF in thousandths above 1, newest first.
    wafs: VecDeque<u64>,
    /// Host and media writes in bytes per second, newest first.
    rates: [VecDeque<u64>; 2],
    /// Error of the latest read.
    pub(super) error: Option<String>,
    pub(super) paused: bool,
    /// Number of handles scrolled past.
    pub(super) scroll: u16,
}

impl Screen {
    pub(super) fn new(first: Snapshot) -> Self {
        Screen { last: first, ..Screen::default() }
    }

    /// Adds a state to the charts and shows it.
    pub(super) fn take(&mut self, now: Snapshot) {
        let (new, old) = (&now.counters, &self.last.counters);
        let host = new.host_bytes.saturating_sub(old.host_bytes);
        let media = new.media_bytes.saturating_sub(old.media_bytes);
        let remember = |values: &mut VecDeque<u64>, value: u64| {
            values.push_front(value);
            values.truncate(MEMORY);
        };
        let clamped = Waf::of(host, media).clamped(wafer_record::metrics::DEFAULT_LIMIT);
        if let Some(clamped) = clamped {
            remember(&mut self.wafs, ((clamped - 1.0).max(0.0) * 1000.0) as u64);
        }
        let seconds = (now.seconds - self.last.seconds).max(1e-3);
        for (values, bytes) in self.rates.iter_mut().zip([host, media]) {
            remember(values, (bytes as f64 / seconds) as u64);
        }
        self.error = None;
        self.before = Some(std::mem::replace(&mut self.last, now));
    }

    /// Returns the bytes per second of a counter between the last two states.
    fn rate(&self, counter: impl Fn(&Counters) -> u64) -> String {
        let Some(before) = &self.before else { return "-".to_owned() };
        let seconds = (self.last.seconds - before.seconds).max(1e-3);
        let growth = counter(&self.last.counters).saturating_sub(counter(&before.counters));
        format!("{}/s", output::bytes((growth as f64 / seconds) as u64))
    }

    /// Returns the WAF between the last two states.
    fn waf_now(&self) -> String {
        let Some(before) = &self.before else { return "-".to_owned() };
        let (new, old) = (&self.last.counters, &before.counters);
        let host = new.host_bytes.saturating_sub(old.host_bytes);
        let media = new.media_bytes.saturating_sub(old.media_bytes);
        output::waf(Waf::of(host, media).ratio())
    }

    /// Returns the facts at the top, most important first.
    fn facts(&self) -> Vec<String> {
        let Snapshot { seconds, counters, live, .. } = &self.last;
        let state = match (&self.error, self.paused) {
            (Some(error), _) => error,
            (None, true) => "paused",
            (None, false) => &live.state,
        };
        let facts = vec![
            printable(&format!("wafer top  {state}  {}", output::seconds(*seconds))).into_owned(),
            format!("WAF now {}", self.waf_now()),
            format!("WAF so far {}", waf(&self.last)),
            format!(
                "host {} ({})",
                output::bytes(counters.host_bytes),
                self.rate(|c| c.host_bytes)
            ),
            format!(
                "media {} ({})",
                output::bytes(counters.media_bytes),
                self.rate(|c| c.media_bytes)
            ),
            format!("erased {}", output::bytes(counters.erased_bytes)),
            format!("reclaim units {}", units(&self.last)),
            format!(
                "collected {} forced, {} background",
                counters.forced_gc, counters.background_gc
            ),
            format!("connections {}", live.connections.len()),
        ];
        facts.into_iter().chain(latencies(&self.last)).collect()
    }
}

/// Breaks facts into lines of `width` columns, between facts if possible, else between words.
fn flow(facts: &[String], width: u16) -> Vec<String> {
    let width = usize::from(width.max(1));
    let columns = |text: &str| Line::from(text).width();
    let mut lines: Vec<String> = Vec::new();
    let mut add = |part: &str, gap: &str, fresh: bool| match lines.last_mut() {
        Some(line) if !fresh && columns(line) + columns(gap) + columns(part) <= width => {
            line.push_str(gap);
            line.push_str(part);
        }
        _ => lines.push(part.to_owned()),
    };
    for (i, fact) in facts.iter().enumerate() {
        if columns(fact) <= width {
            add(fact, "   ", i == 0);
        } else {
            for (j, word) in fact.split(' ').filter(|word| !word.is_empty()).enumerate() {
                add(word, " ", j == 0);
            }
        }
    }
    lines
}

pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen) {
    let area = frame.area();
    let mut lines: Vec<Line<'_>> =
        flow(&screen.facts(), area.width).into_iter().map(Line::from).collect();
    if let Some(first) = lines.first_mut() {
        *first = std::mem::take(first).bold();
    }
    lines.push(Line::from("q quits, p pauses, up and down scroll").dim());
    let [head, body] =
        Layout::vertical([Constraint::Length(lines.len() as u16), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(lines), head);
    // Includes borders and the header.
    let needed = handles(&screen.last).count() as u16 + 3;
    if area.width >= WIDE {
        let right = WIDTHS.iter().sum::<u16>() + WIDTHS.len() as u16 + 1;
        let right = right.max(area.width / 2);
        let [left, right] =
            Layout::horizontal([Constraint::Min(0), Constraint::Length(right)]).areas(body);
        let charts: [Rect; 3] = Layout::vertical([Constraint::Fill(1); 3]).areas(left);
        draw_wafs(frame, screen, charts[0]);
        draw_rates(frame, screen, charts[1], charts[2]);
        let most = body.height.saturating_sub(EVENTS);
        let [table, events] =
            Layout::vertical([Constraint::Length(needed.min(most)), Constraint::Min(0)])
                .areas(right);
        draw_handles(frame, screen, table);
        draw_events(frame, screen, events);
        return;
    }
    let free = body.height.saturating_sub(needed);
    // Handles come first; the remaining rows go to the WAF, then to events, then to bandwidth.
    let chart = free.saturating_sub(EVENTS).clamp(CHART.min(body.height / 3), 8);
    let events = free.saturating_sub(chart).clamp(EVENTS.min(body.height / 4), 10);
    let rates = free.saturating_sub(chart + events).min(2 * 8);
    let rates = if rates < 2 * CHART { 0 } else { rates };
    let [wafs, host, media, table, newest] = Layout::vertical([
        Constraint::Length(chart),
        Constraint::Length(rates / 2),
        Constraint::Length(rates / 2),
        Constraint::Length(needed.min(body.height.saturating_sub(chart + rates + events))),
        Constraint::Min(0),
    ])
    .areas(body);
    draw_wafs(frame, screen, wafs);
    draw_rates(frame, screen, host, media);
    draw_handles(frame, screen, table);
    draw_events(frame, screen, newest);
}

/// Draws the newest values, with the latest on the right.
fn draw_chart(
    frame: &mut Frame<'_>,
    values: &VecDeque<u64>,
    title: impl Fn(u64) -> String,
    area: Rect,
) {
    if area.height < 3 {
        return;
    }
    let width = usize::from(area.width.saturating_sub(2));
    let mut newest: Vec<u64> = values.iter().take(width).copied().collect();
    newest.reverse();
    let block = Block::bordered().title(title(newest.iter().copied().max().unwrap_or_default()));
    frame.render_widget(Sparkline::default().block(block).data(&newest), area);
}

fn draw_wafs(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let title = |most: u64| {
        format!(" WAF since the previous update, 1 to {:.2} ", 1.0 + most as f64 / 1000.0)
    };
    draw_chart(frame, &screen.wafs, title, area);
}

fn draw_rates(frame: &mut Frame<'_>, screen: &Screen, host: Rect, media: Rect) {
    for ((name, values), area) in ["host", "media"].iter().zip(&screen.rates).zip([host, media]) {
        let title = |most| format!(" {name} writes, up to {}/s ", output::bytes(most));
        draw_chart(frame, values, title, area);
    }
}

fn draw_handles(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let all = handles(&screen.last).count();
    let shown = usize::from(area.height.saturating_sub(3));
    // Not past the last handle.
    let first = usize::from(screen.scroll).min(all.saturating_sub(shown));
    let title = if all > shown {
        format!(" handles, rows {} to {} of {all} ", first + 1, (first + shown).min(all))
    } else {
        " handles ".to_owned()
    };
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let rows = handles(&screen.last).skip(first).map(|row| Row::new(row.map(right)));
    let table = Table::new(rows, WIDTHS.map(Constraint::Length))
        .header(Row::new(HANDLES.map(|name| right(name.to_owned()))).style(Style::new().bold()))
        .block(Block::bordered().title(title));
    frame.render_widget(table, area);
}

fn draw_events(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let lines: Vec<Line<'_>> = screen.last.live.events.iter().rev().map(event_line).collect();
    let block = Block::bordered().title(" FDP events, the newest first ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Formats an event.
fn event_line(event: &wafer_record::Event) -> Line<'static> {
    // Since the start of the drive, or since 1970 if a host has set its clock.
    let moment = match event.seconds {
        s if s > 1e8 => rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs_f64(s.min(1e11))),
        s => format!("{s:>9.1} s"),
    };
    // Escaped, so it cannot control the terminal.
    Line::from(printable(&format!("{moment}  {}  {}", event.kind, event.text)).into_owned())
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use wafer_interface::HandleCounters;
    use wafer_record::time::Requests;
    use wafer_record::{Event, HandleKey, Live, TimeRecord};

    use super::*;

    fn state(seconds: f64, host: u64, media: u64) -> Snapshot {
        let counters = Counters { host_bytes: host, media_bytes: media, ..Counters::default() };
        let event = Event {
            number: 1,
            seconds: 0.5,
            kind: "media reallocated".to_owned(),
            text: "a\u{1b}[31mb".to_owned(),
        };
        let live = Live {
            state: "running".to_owned(),
            free_open_closed: [5, 2, 30],
            events: vec![event],
            ..Live::default()
        };
        let handle = HandleCounters { host_bytes: host, media_bytes: media, erased_bytes: 0 };
        let handles = [(HandleKey::Handle(0), handle)].into();
        Snapshot { seconds, counters, handles, live, ..Snapshot::default() }
    }

    /// Returns the screen of a drive with eight handles after a minute.
    fn watched() -> Screen {
        let mut screen = Screen::default();
        for second in 0..60 {
            let written = second * 1_234_567_890 + (second % 7) * 100_000_000;
            let mut now = state(second as f64, written, written * (100 + second) / 100);
            let share = |n: u64| HandleCounters {
                host_bytes: written / 8,
                media_bytes: written / 8 * (100 + 10 * n) / 100 + 1,
                erased_bytes: 0,
            };
            now.handles = (0..8).map(|n| (HandleKey::Handle(n as u16), share(n))).collect();
            now.handles.insert(HandleKey::Gc, share(20));
            now.counters.erased_bytes = written;
            now.counters.forced_gc = 12_345_678;
            now.counters.background_gc = 1_234_567;
            now.live.free_open_closed = [409, 9, 3668];
            now.live.events = (0..40)
                .map(|number| Event {
                    number,
                    seconds: number as f64,
                    kind: "media reallocated".to_owned(),
                    text: format!("RUH {}, {} pages", number % 8, 100 * number),
                })
                .collect();
            screen.take(now);
        }
        screen
    }

    fn shown(screen: &Screen, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, screen)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn the_screen_shows_rates_and_waf_and_no_control_characters() {
        let mut screen = Screen::new(state(1.0, 1_000_000, 1_000_000));
        let read = Requests {
            percentiles_us: [("50".to_owned(), 63.2), ("99".to_owned(), 880.0)].into(),
            ..Requests::default()
        };
        let time = Some(TimeRecord { read: Some(read), ..TimeRecord::default() });
        screen.take(Snapshot { time, ..state(3.0, 5_000_000, 9_000_000) });
        let text = shown(&screen, 100, 30);
        for part in [
            "reads p50 63 µs, p99 880 µs",
            "2.00 MB/s",
            "4.00 MB/s",
            "WAF now 2.000",
            "WAF so far 1.800",
            "1 to 2.00",
            "5 free, 2 open, 30 closed",
            "a\\u{1b}[31mb",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        // A terminal of a few cells is drawn too.
        shown(&screen, 3, 2);
    }

    #[test]
    fn every_size_shows_all_facts_and_all_handles_and_leaves_no_rows_empty() {
        let screen = watched();
        for (width, height) in [(80, 24), (120, 40), (200, 50)] {
            let text = shown(&screen, width, height);
            for fact in screen.facts() {
                assert!(text.contains(&fact), "{width}x{height}: {fact} in\n{text}");
            }
            // Handles 0 and 7, and GC.
            for waf in ["1.000 ", "1.700 ", "3.000 "] {
                assert!(text.contains(waf), "{width}x{height}: {waf} in\n{text}");
            }
            let blank = |line: &&str| line.chars().all(|c| " \"│".contains(c));
            let empty = text.lines().filter(blank).count();
            assert!(empty <= 1, "{width}x{height}: {empty} empty rows in\n{text}");
            insta::assert_snapshot!(format!("{width}x{height}"), text);
        }
    }

    #[test]
    fn many_handles_scroll_to_the_last_and_a_long_error_is_whole() {
        let mut screen = watched();
        let handle = HandleCounters { host_bytes: 1, media_bytes: 1, erased_bytes: 0 };
        screen.last.handles = (0..128).map(|n| (HandleKey::Handle(n), handle)).collect();
        screen.scroll = 1000;
        screen.error =
            Some(format!("http://drive.example:8080/: {}", "connection refused ".repeat(9)));
        let text = shown(&screen, 80, 24);
        assert!(text.contains("of 128") && text.contains(" 127 "), "{text}");
        assert_eq!(text.matches("refused").count(), 9, "{text}");
    }
}
