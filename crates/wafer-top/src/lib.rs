//! Shows a running drive in the terminal.
//!
//! # What it is
//! [`Remote`] requests the state of a drive from its server; [`print()`] shows it once; [`watch`] shows it until a key
//! ends it. `screen.rs` draws.
//!
//! # Error model
//! If a server does not respond, or responds with something else, the error is one line with its address. The screen
//! shows that line, and the server is asked again.

mod screen;

use std::io::Write as _;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use serde::de::DeserializeOwned;
use wafer_record::Snapshot;
use wafer_record::metrics::Waf;

use self::screen::{Screen, draw};
use wafer_output as output;
use wafer_output::Table;

/// An error that prevents showing the state of a drive.
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// A server does not return the state of a drive.
    #[error("{address}: {reason}")]
    Server {
        /// The address of the request.
        address: String,
        /// The reason.
        reason: String,
    },
    /// The terminal cannot be used.
    #[error(transparent)]
    Terminal(#[from] std::io::Error),
}

/// A server of a drive.
pub struct Remote {
    agent: ureq::Agent,
    address: String,
    token: Option<String>,
}

impl Remote {
    /// Returns the server at an address, with or without `http://`, which may contain the token as `?token=TOKEN`. A
    /// port alone is on this machine.
    pub fn new(url: &str, token: Option<&str>) -> Self {
        let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(5)));
        // The printed address may contain the token.
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let scheme = match address.parse::<u16>() {
            Ok(_) => "http://127.0.0.1:",
            Err(_) if address.contains("://") => "",
            Err(_) => "http://",
        };
        let shown = query.split('&').find_map(|pair| pair.strip_prefix("token="));
        Remote {
            agent: config.build().into(),
            address: format!("{scheme}{}/api/v1/state", address.trim_end_matches('/')),
            token: token.or(shown).map(str::to_owned),
        }
    }

    /// Returns the current state of the drive.
    ///
    /// # Errors
    /// If the server does not respond, or is not wafer.
    pub fn state<T: DeserializeOwned>(&self) -> Result<T, TopError> {
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
            TopError::Server { address: self.address.clone(), reason }
        };
        if !has_port(&self.address) {
            return Err(TopError::Server {
                address: self.address.clone(),
                reason: "a port is a number from 1 to 65535".to_owned(),
            });
        }
        request.call().and_then(|mut response| response.body_mut().read_json()).map_err(failed)
    }
}

/// Returns whether the port of an address is valid or omitted. The client would replace an invalid one.
fn has_port(address: &str) -> bool {
    let authority = address.split("://").nth(1).and_then(|rest| rest.split('/').next());
    let port = authority.and_then(|authority| authority.rsplit_once(':'));
    port.is_none_or(|(_, port)| port.ends_with(']') || port.parse().is_ok_and(|port: u16| port > 0))
}

fn waf(of: &Snapshot) -> String {
    output::waf(Waf::of(of.counters.host_bytes, of.counters.media_bytes).ratio())
}

fn units(of: &Snapshot) -> String {
    let [free, open, closed] = of.live.free_open_closed;
    let retired = of.wear.as_ref().map_or(0, |wear| wear.retired);
    let retired = if retired > 0 { format!(", {retired} retired") } else { String::new() };
    format!("{free} free, {open} open, {closed} closed{retired}")
}

/// Returns the median and 99th-percentile latency of each direction, if there is a clock.
fn latencies(of: &Snapshot) -> impl Iterator<Item = String> {
    of.time.iter().flat_map(|time| time.each()).map(|(direction, all)| {
        let us = |at: &str| all.percentiles_us.get(at).copied().unwrap_or_default();
        format!("{} p50 {:.0} µs, p99 {:.0} µs", direction.plural(), us("50"), us("99"))
    })
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

/// Prints a state.
///
/// # Errors
/// If stdout cannot be written.
pub fn print(now: &Snapshot) -> Result<(), TopError> {
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
    writeln!(out, "reclaim units {}  connections {}", units(now), now.live.connections.len())?;
    latencies(now).try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out)?;
    let mut table = Table::default().numbers(HANDLES);
    for row in handles(now) {
        table.row(row);
    }
    table.print(&mut out)?;
    Ok(out.flush()?)
}

/// Restores the terminal to its state before [`watch`].
pub fn restore() {
    ratatui::restore();
}

/// Shows the state of a drive in the terminal, beginning with `first`, until the user ends it.
///
/// # Errors
/// If the terminal cannot be used.
pub fn watch(server: &Remote, interval: Duration, first: Snapshot) -> Result<(), TopError> {
    let mut terminal = ratatui::try_init()?;
    let ended = show(&mut terminal, server, interval, first);
    restore();
    ended
}

fn show(
    terminal: &mut DefaultTerminal,
    server: &Remote,
    interval: Duration,
    first: Snapshot,
) -> Result<(), TopError> {
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

#[cfg(test)]
mod tests {
    use wafer_record::{Live, Wear};

    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        assert_eq!(Remote::new("8080", None).address, "http://127.0.0.1:8080/api/v1/state");
        assert_eq!(Remote::new("h:8080", None).address, "http://h:8080/api/v1/state");
    }

    #[test]
    fn units_sum_to_all_of_the_drive() {
        let live = Live { free_open_closed: [3, 9, 257], ..Live::default() };
        let fresh = Snapshot { live, ..Snapshot::default() };
        assert_eq!(units(&fresh), "3 free, 9 open, 257 closed");
        let wear = Wear { least: 1, most: 3, mean: 2.0, retired: 22, read_only: true };
        let worn = Snapshot { wear: Some(wear), ..fresh };
        assert_eq!(units(&worn), "3 free, 9 open, 257 closed, 22 retired");
    }

    #[test]
    fn a_port_that_is_none_is_refused() {
        for right in ["h", "http://h:1", "https://[::1]:65535/", "[::1]", "http://h?token=a:b"] {
            assert!(has_port(&Remote::new(right, None).address), "{right}");
        }
        for wrong in ["h:0", "h:", "http://[::1]:99999", "h:http"] {
            let error = Remote::new(wrong, None).state::<String>().unwrap_err();
            assert!(error.to_string().contains("from 1 to 65535"), "{wrong}: {error}");
        }
    }
}
