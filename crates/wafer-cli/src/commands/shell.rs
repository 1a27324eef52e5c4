//! `wafer completions` and `wafer man`

use clap::CommandFactory as _;
use clap_complete::Shell;
use clap_complete::env::Shells;
use wafer_lab::LabError;

use crate::args::Cli;
use crate::output;

/// Prints the script that makes a shell ask `wafer` for completions.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<()> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let completer = shells
        .completer(&name)
        .ok_or_else(|| LabError::config(format!("completions {name}"), "no such shell"))?;
    let mut script = Vec::new();
    completer.write_registration("COMPLETE", "wafer", "wafer", "wafer", &mut script)?;
    output::text(&String::from_utf8_lossy(&script))
}

pub(crate) fn man(command: Option<&str>) -> anyhow::Result<()> {
    let mut root = Cli::command();
    root.build();
    let page = match command {
        None => root,
        Some(name) => root
            .find_subcommand(name)
            .ok_or_else(|| LabError::config(format!("man {name}"), "no such command"))?
            .clone(),
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    output::text(&String::from_utf8_lossy(&text))
}
