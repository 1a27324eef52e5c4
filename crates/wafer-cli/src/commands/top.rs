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
use serde_json::Value;
use wafer_lab::LabError;
use wafer_record::metrics::Waf;
use wafer_record::record::rfc3339;

use crate::args::TopArgs;
use crate::output;
use crate::output::{Align, Table};

/// Looks that the sparkline remembers.
const MEMORY: usize = 512;

pub(crate) fn run(args: &TopArgs) -> anyhow::Result<()> {
    let server = Remote::new(args);
    let first = server.look()?;
    if args.json {
        return output::json(&first.0);
    }
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

/// One answer of `/api/v1/state`.
#[derive(Clone)]
struct Look(Value);

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

    fn look(&self) -> Result<Look, LabError> {
        let mut request = self.agent.get(&self.address);
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let failed = |e: ureq::Error| match e {
            ureq::Error::StatusCode(401) => {
                LabError::Run(format!("{}: a token is needed; give --token", self.address))
            }
            e => LabError::Run(format!("{}: {e}", self.address)),
        };
        let mut answer = request.call().map_err(failed)?;
        let value: Value = answer.body_mut().read_json().map_err(failed)?;
        if !value["counters"].is_object() {
            return Err(LabError::Run(format!("{}: not a wafer drive", self.address)));
        }
        Ok(Look(value))
    }
}

impl Look {
    fn counter(&self, name: &str) -> u64 {
        self.0["counters"][name].as_u64().unwrap_or(0)
    }

    fn seconds(&self) -> f64 {
        self.0["seconds"].as_f64().unwrap_or(0.0)
    }

    fn waf(&self) -> Waf {
        Waf::of(self.counter("host_bytes"), self.counter("media_bytes"))
    }

    /// Rows of the table of handles.
    fn handles(&self) -> Vec<[String; 5]> {
        let Some(handles) = self.0["handles"].as_object() else { return Vec::new() };
        let bytes = |h: &Value, key: &str| h[key].as_u64().unwrap_or(0);
        let written = handles.iter().filter(|(_, h)| bytes(h, "media_bytes") > 0);
        written
            .map(|(key, h)| {
                let (host, media) = (bytes(h, "host_bytes"), bytes(h, "media_bytes"));
                [
                    key.clone(),
                    output::bytes(host),
                    output::bytes(media),
                    shown(Waf::of(host, media).ratio()),
                    output::bytes(media.saturating_sub(host)),
                ]
            })
            .collect()
    }

    /// Free, open and closed reclaim units.
    fn units(&self) -> String {
        let of = |i: usize| self.0["live"]["free_open_closed"][i].as_u64().unwrap_or(0);
        format!("{} free, {} open, {} closed", of(0), of(1), of(2))
    }

    fn connections(&self) -> usize {
        self.0["live"]["connections"].as_array().map_or(0, Vec::len)
    }

    fn state(&self) -> &str {
        self.0["live"]["state"].as_str().unwrap_or("")
    }
}

fn shown(waf: Option<f64>) -> String {
    waf.map_or("-".to_owned(), |waf| format!("{waf:.3}"))
}

const HANDLES: [&str; 5] = ["handle", "host", "media", "WAF", "moved by GC"];

fn print(look: &Look) -> anyhow::Result<()> {
    let mut out = output::styled();
    writeln!(
        out,
        "{}  host {}  media {}  erased {}  WAF {}",
        look.state(),
        output::bytes(look.counter("host_bytes")),
        output::bytes(look.counter("media_bytes")),
        output::bytes(look.counter("erased_bytes")),
        shown(look.waf().ratio())
    )?;
    writeln!(out, "reclaim units {}  connections {}\n", look.units(), look.connections())?;
    let mut table = Table::new(&HANDLES.map(|name| (name, Align::Right)));
    for row in look.handles() {
        table.row(row);
    }
    table.print(&mut out)?;
    out.flush()?;
    Ok(())
}

/// What the screen shows.
struct Screen {
    last: Look,
    before: Option<Look>,
    /// Instantaneous WAF in thousandths above 1, the newest first.
    wafs: VecDeque<u64>,
    trouble: Option<String>,
    paused: bool,
    scroll: u16,
}

fn watch(
    terminal: &mut DefaultTerminal,
    server: &Remote,
    interval: Duration,
    first: Look,
) -> anyhow::Result<()> {
    let mut screen = Screen {
        last: first,
        before: None,
        wafs: VecDeque::new(),
        trouble: None,
        paused: false,
        scroll: 0,
    };
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
        match server.look() {
            Ok(look) => screen.take(look),
            // A server that comes back is watched on.
            Err(error) => screen.trouble = Some(error.to_string()),
        }
    }
}

impl Screen {
    fn take(&mut self, look: Look) {
        let growth = |name: &str| look.counter(name).saturating_sub(self.last.counter(name));
        let waf = Waf::of(growth("host_bytes"), growth("media_bytes"));
        if let Some(clamped) = waf.clamped(wafer_record::metrics::DEFAULT_LIMIT) {
            self.wafs.push_front(((clamped - 1.0).max(0.0) * 1000.0) as u64);
            self.wafs.truncate(MEMORY);
        }
        self.trouble = None;
        self.before = Some(std::mem::replace(&mut self.last, look));
    }

    /// Bytes per second of a counter between the last two looks.
    fn rate(&self, name: &str) -> String {
        let Some(before) = &self.before else { return "-".to_owned() };
        let seconds = (self.last.seconds() - before.seconds()).max(1e-3);
        let growth = self.last.counter(name).saturating_sub(before.counter(name));
        format!("{}/s", output::bytes((growth as f64 / seconds) as u64))
    }
}

fn draw(frame: &mut Frame<'_>, screen: &Screen) {
    let [head, line, handles, events] = Layout::vertical([
        Constraint::Length(5),
        Constraint::Length(6),
        Constraint::Min(4),
        Constraint::Length(8),
    ])
    .areas(frame.area());
    let look = &screen.last;
    let state = match (&screen.trouble, screen.paused) {
        (Some(trouble), _) => trouble.clone(),
        (None, true) => "paused".to_owned(),
        (None, false) => look.state().to_owned(),
    };
    let text = vec![
        Line::from(format!("wafer top  {state}  {}", output::seconds(look.seconds()))).bold(),
        Line::from(format!(
            "host {} ({})  media {} ({})  erased {}",
            output::bytes(look.counter("host_bytes")),
            screen.rate("host_bytes"),
            output::bytes(look.counter("media_bytes")),
            screen.rate("media_bytes"),
            output::bytes(look.counter("erased_bytes")),
        )),
        Line::from(format!(
            "WAF {}   reclaim units {}   connections {}   collected {} forced, {} background",
            shown(look.waf().ratio()),
            look.units(),
            look.connections(),
            look.counter("forced_gc"),
            look.counter("background_gc"),
        )),
        Line::from("q quits, p pauses, up and down scroll").dim(),
    ];
    frame.render_widget(Paragraph::new(text), head);
    let width = usize::from(line.width.saturating_sub(2));
    let mut newest: Vec<u64> = screen.wafs.iter().take(width).copied().collect();
    newest.reverse();
    let most = newest.iter().max().map_or(1.0, |most| 1.0 + *most as f64 / 1000.0);
    let title = format!(" WAF since the look before, 1 to {most:.2} ");
    frame.render_widget(
        Sparkline::default().block(Block::bordered().title(title)).data(&newest),
        line,
    );
    let rows = look.handles().into_iter().skip(usize::from(screen.scroll));
    let right = |text: String| Cell::from(Line::from(text).right_aligned());
    let table = ratatui::widgets::Table::new(
        rows.map(|row| Row::new(row.map(right))),
        [
            Constraint::Length(8),
            Constraint::Length(12),
            Constraint::Length(12),
            Constraint::Length(8),
            Constraint::Length(14),
        ],
    )
    .header(Row::new(HANDLES.map(|name| right(name.to_owned()))).style(Style::new().bold()))
    .block(Block::bordered().title(" handles "));
    frame.render_widget(table, handles);
    let said = look.0["live"]["events"].as_array().into_iter().flatten().rev();
    let lines: Vec<Line<'_>> = said
        .map(|e| {
            let seconds = e["seconds"].as_f64().unwrap_or(0.0);
            let text = |key: &str| e[key].as_str().unwrap_or("").replace(char::is_control, " ");
            // Since the drive began, or since 1970 when a host has set its clock.
            let moment = match seconds {
                s if s > 1e8 => {
                    rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs_f64(s.min(1e11)))
                }
                s => format!("{s:>9.1} s"),
            };
            Line::from(format!("{moment}  {}  {}", text("kind"), text("text")))
        })
        .collect();
    frame.render_widget(
        Paragraph::new(lines).block(Block::bordered().title(" FDP events ")),
        events,
    );
}

#[cfg(test)]
mod tests {
    use ratatui::backend::TestBackend;
    use serde_json::json;

    use super::*;

    fn look(seconds: f64, host: u64, media: u64) -> Look {
        Look(json!({
            "seconds": seconds,
            "counters": { "host_bytes": host, "media_bytes": media, "erased_bytes": 0, "forced_gc": 3, "background_gc": 4 },
            "handles": { "0": { "host_bytes": host, "media_bytes": media } },
            "live": { "state": "running", "free_open_closed": [5, 2, 30], "connections": [{}],
                "events": [{ "number": 1, "seconds": 0.5, "kind": "media reallocated", "text": "a\u{1b}[31mb" }] },
        }))
    }

    #[test]
    fn the_screen_shows_rates_and_waf_and_no_control_characters() {
        let mut screen = Screen {
            last: look(1.0, 1_000_000, 1_000_000),
            before: None,
            wafs: VecDeque::new(),
            trouble: None,
            paused: false,
            scroll: 0,
        };
        screen.take(look(3.0, 5_000_000, 9_000_000));
        let mut terminal = ratatui::Terminal::new(TestBackend::new(100, 30)).unwrap();
        terminal.draw(|frame| draw(frame, &screen)).unwrap();
        let text = terminal.backend().to_string();
        for part in [
            "2.00 MB/s",
            "4.00 MB/s",
            "WAF 1.800",
            "1 to 2.00",
            "5 free, 2 open, 30 closed",
            "a [31mb",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        // A terminal of a few cells is drawn too.
        ratatui::Terminal::new(TestBackend::new(3, 2)).unwrap().draw(|f| draw(f, &screen)).unwrap();
    }
}
