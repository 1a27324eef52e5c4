//! `wafer top`: a running drive in the terminal.

use std::collections::VecDeque;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant, SystemTime};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Style, Stylize as _};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline};
use ratatui::{DefaultTerminal, Frame};
use serde::de::DeserializeOwned;
use serde_json::Value;
use wafer_interface::Counters;
use wafer_lab::LabError;
use wafer_record::Snapshot;
use wafer_record::metrics::Waf;
use wafer_record::record::rfc3339;
use wafer_record::text::printable;

use crate::args::TopArgs;
use crate::output;
use crate::output::Table;

/// Number of values that the sparkline remembers.
const MEMORY: usize = 512;

pub(crate) fn run(args: &TopArgs) -> anyhow::Result<()> {
    let server = Remote::new(args);
    if args.json {
        return output::json(&server.state::<Value>()?);
    }
    let first = server.state()?;
    if args.once || !std::io::stdout().is_terminal() {
        return print(&first);
    }
    let mut terminal = ratatui::try_init()?;
    let ended = watch(&mut terminal, &server, args.interval, first);
    ratatui::restore();
    ended
}

/// The server at the other end.
struct Remote {
    agent: ureq::Agent,
    address: String,
    token: Option<String>,
}

impl Remote {
    fn new(args: &TopArgs) -> Self {
        let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(5)));
        // The address as it was printed may hold the token.
        let (address, query) = args.url.split_once('?').unwrap_or((&args.url, ""));
        let shown = query.split('&').find_map(|pair| pair.strip_prefix("token="));
        Remote {
            agent: config.build().into(),
            address: format!("{}/api/v1/state", address.trim_end_matches('/')),
            token: args.token.clone().or_else(|| shown.map(str::to_owned)),
        }
    }

    /// Returns the newest state of the device.
    fn state<T: DeserializeOwned>(&self) -> Result<T, LabError> {
        let mut request = self.agent.get(&self.address);
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let failed = |e: ureq::Error| {
            let reason = match e {
                ureq::Error::StatusCode(401) => "a token is needed; give --token".to_owned(),
                ureq::Error::Json(_) => "not a wafer drive".to_owned(),
                e => e.to_string(),
            };
            LabError::Run(format!("{}: {reason}", self.address))
        };
        request.call().and_then(|mut response| response.body_mut().read_json()).map_err(failed)
    }
}

fn waf(of: &Snapshot) -> String {
    output::waf(Waf::of(of.counters.host_bytes, of.counters.media_bytes).ratio())
}

fn units(of: &Snapshot) -> String {
    let [free, open, closed] = of.live.free_open_closed;
    format!("{free} free, {open} open, {closed} closed")
}

/// Returns the rows of the table of handles.
fn handles(of: &Snapshot) -> impl Iterator<Item = [String; 5]> {
    of.handles.iter().filter(|(_, c)| c.media_bytes > 0).map(|(key, c)| {
        [
            key.to_string(),
            output::bytes(c.host_bytes),
            output::bytes(c.media_bytes),
            output::waf(Waf::of(c.host_bytes, c.media_bytes).ratio()),
            output::bytes(c.media_bytes.saturating_sub(c.host_bytes)),
        ]
    })
}

const HANDLES: [&str; 5] = ["handle", "host", "media", "WAF", "moved by GC"];

fn print(now: &Snapshot) -> anyhow::Result<()> {
    let mut out = output::styled();
    writeln!(
        out,
        "{}  host {}  media {}  erased {}  WAF {}",
        now.live.state,
        output::bytes(now.counters.host_bytes),
        output::bytes(now.counters.media_bytes),
        output::bytes(now.counters.erased_bytes),
        waf(now)
    )?;
    writeln!(out, "reclaim units {}  connections {}\n", units(now), now.live.connections.len())?;
    let mut table = Table::default().numbers(HANDLES);
    for row in handles(now) {
        table.row(row);
    }
    table.print(&mut out)?;
    Ok(out.flush()?)
}

/// Contents of the screen.
#[derive(Default)]
struct Screen {
    last: Snapshot,
    before: Option<Snapshot>,
    /// Instantaneous WAF in thousandths above 1, the newest first.
    wafs: VecDeque<u64>,
    /// Why the newest state could not be read.
    error: Option<String>,
    paused: bool,
    scroll: u16,
}

fn watch(
    terminal: &mut DefaultTerminal,
    server: &Remote,
    interval: Duration,
    first: Snapshot,
) -> anyhow::Result<()> {
    let mut screen = Screen { last: first, ..Screen::default() };
    let mut next = Instant::now() + interval;
    loop {
        terminal.draw(|frame| draw(frame, &screen))?;
        if event::poll(next.saturating_duration_since(Instant::now()))? {
            if let Event::Key(key) = event::read()? {
                match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                    KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                        return Ok(());
                    }
                    KeyCode::Char('p') => screen.paused = !screen.paused,
                    KeyCode::Down => screen.scroll = screen.scroll.saturating_add(1),
                    KeyCode::Up => screen.scroll = screen.scroll.saturating_sub(1),
                    _ => {}
                }
            }
            continue;
        }
        next = Instant::now() + interval;
        if screen.paused {
            continue;
        }
        match server.state() {
            Ok(now) => screen.take(now),
            // The server may come back.
            Err(error) => screen.error = Some(error.to_string()),
        }
    }
}

impl Screen {
    fn take(&mut self, now: Snapshot) {
        let (new, old) = (&now.counters, &self.last.counters);
        let waf = Waf::of(
            new.host_bytes.saturating_sub(old.host_bytes),
            new.media_bytes.saturating_sub(old.media_bytes),
        );
        if let Some(clamped) = waf.clamped(wafer_record::metrics::DEFAULT_LIMIT) {
            self.wafs.push_front(((clamped - 1.0).max(0.0) * 1000.0) as u64);
            self.wafs.truncate(MEMORY);
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
}

fn draw(frame: &mut Frame<'_>, screen: &Screen) {
    let [head, line, middle, bottom] = Layout::vertical([
        Constraint::Length(5),
        Constraint::Length(6),
        Constraint::Min(4),
        Constraint::Length(8),
    ])
    .areas(frame.area());
    let Snapshot { seconds, counters, live, .. } = &screen.last;
    let state = match (&screen.error, screen.paused) {
        (Some(error), _) => error,
        (None, true) => "paused",
        (None, false) => &live.state,
    };
    let text = vec![
        shown(&format!("wafer top  {state}  {}", output::seconds(*seconds))).bold(),
        Line::from(format!(
            "host {} ({})  media {} ({})  erased {}",
            output::bytes(counters.host_bytes),
            screen.rate(|c| c.host_bytes),
            output::bytes(counters.media_bytes),
            screen.rate(|c| c.media_bytes),
            output::bytes(counters.erased_bytes),
        )),
        Line::from(format!(
            "WAF {}   reclaim units {}   connections {}   collected {} forced, {} background",
            waf(&screen.last),
            units(&screen.last),
            live.connections.len(),
            counters.forced_gc,
            counters.background_gc,
        )),
        Line::from("q quits, p pauses, up and down scroll").dim(),
    ];
    frame.render_widget(Paragraph::new(text), head);
    let width = usize::from(line.width.saturating_sub(2));
    let mut newest: Vec<u64> = screen.wafs.iter().take(width).copied().collect();
    newest.reverse();
    let most = newest.iter().max().map_or(1.0, |most| 1.0 + *most as f64 / 1000.0);
    let title = format!(" WAF since the previous update, 1 to {most:.2} ");
    frame.render_widget(
        Sparkline::default().block(Block::bordered().title(title)).data(&newest),
        line,
    );
    let rows = handles(&screen.last).skip(usize::from(screen.scroll));
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let table = ratatui::widgets::Table::new(
        rows.map(|row| Row::new(row.map(right))),
        [8, 12, 12, 8, 14].map(Constraint::Length),
    )
    .header(Row::new(HANDLES.map(|name| right(name.to_owned()))).style(Style::new().bold()))
    .block(Block::bordered().title(" handles "));
    frame.render_widget(table, middle);
    let lines: Vec<Line<'_>> = live.events.iter().rev().map(event_line).collect();
    let block = Block::bordered().title(" FDP events ");
    frame.render_widget(Paragraph::new(lines).block(block), bottom);
}

/// Formats an event.
fn event_line(event: &wafer_record::Event) -> Line<'static> {
    // Since the drive began, or since 1970 if a host has set its clock.
    let moment = match event.seconds {
        s if s > 1e8 => rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs_f64(s.min(1e11))),
        s => format!("{s:>9.1} s"),
    };
    let text = format!("{moment}  {}  {}", event.kind, event.text);
    shown(&text)
}

/// Returns a line of which nothing acts on the terminal.
fn shown(text: &str) -> Line<'static> {
    Line::from(printable(text).into_owned())
}

#[cfg(test)]
mod tests {
    use ratatui::backend::TestBackend;
    use wafer_interface::HandleCounters;
    use wafer_record::{Event, HandleKey, Live};

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
        Snapshot { seconds, counters, handles, live, reclaim_units: None }
    }

    #[test]
    fn the_screen_shows_rates_and_waf_and_no_control_characters() {
        let mut screen = Screen { last: state(1.0, 1_000_000, 1_000_000), ..Screen::default() };
        screen.take(state(3.0, 5_000_000, 9_000_000));
        let mut terminal = ratatui::Terminal::new(TestBackend::new(100, 30)).unwrap();
        terminal.draw(|frame| draw(frame, &screen)).unwrap();
        let text = terminal.backend().to_string();
        for part in [
            "2.00 MB/s",
            "4.00 MB/s",
            "WAF 1.800",
            "1 to 2.00",
            "5 free, 2 open, 30 closed",
            "a\\u{1b}[31mb",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        // A terminal of a few cells is drawn too.
        ratatui::Terminal::new(TestBackend::new(3, 2)).unwrap().draw(|f| draw(f, &screen)).unwrap();
    }
}
