//! `wafer top`: a running drive in the terminal.

use std::io::IsTerminal as _;

use serde_json::Value;
use wafer_output as output;
use wafer_top::{Remote, print, restore, watch};

use crate::args::TopArgs;

pub(crate) fn run(args: &TopArgs) -> anyhow::Result<()> {
    let server = Remote::new(&args.url, args.token.as_deref());
    if args.json {
        return output::json(&server.state::<Value>()?);
    }
    let first = server.state()?;
    if args.once || !std::io::stdout().is_terminal() {
        return Ok(print(&first)?);
    }
    // Handles only signals from outside: on this screen, Ctrl-C is a key.
    ctrlc::set_handler(|| {
        restore();
        std::process::exit(130);
    })?;
    Ok(watch(&server, args.interval, first)?)
}
