//! `wafer top`: a running drive in the terminal.
//!
//! This file asks the server and handles keys; `screen.rs` draws.

mod screen;

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use serde::de::DeserializeOwned;
use serde_json::Value;
use wafer_lab::LabError;
use wafer_record::Snapshot;
use wafer_record::metrics::Waf;

use self::screen::{Screen, draw};
use crate::args::TopArgs;
use wafer_output as output;
use wafer_output::Table;

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

fn watch(
    terminal: &mut DefaultTerminal,
    server: &Remote,
    interval: Duration,
    first: Snapshot,
) -> anyhow::Result<()> {
    let mut screen = Screen::new(first);
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
