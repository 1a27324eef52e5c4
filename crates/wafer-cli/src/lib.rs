//! The `wafer` command: glue between the command line and the libraries.
//!
//! # What it is
//! `wafer run` writes a workload to a device and prints tables or result records; `serve` and `mount` give
//! a device to real software; `devices`, `policies`, `models` and `config` list the choices; `schema`
//! prints JSON Schemas; `completions` and `man` print shell completions and manual pages.
//!
//! # Architecture
//! - `args/`: every option once, with its documentation, which also gives help, completions and manual.
//!   Keys of configurations and their values are completed from the JSON Schema.
//! - `commands/`: one file per command, from arguments to output. `summary.rs` has the tables of runs.
//! - `batch.rs`: parallel runs and the folder of drives in steady state. `cancel.rs`: Ctrl-C.
//! - `progress.rs`: the bar on stderr. `log.rs`: the log of a served drive. `errors.rs`: errors of libraries in
//!   the terms of the command line. Tables, JSON and escaped text are printed by `wafer-output`.
//!
//! # Features
//! `serve`, `mount` and `tui`, all on by default: without them, their commands are absent.
//!
//! # Invariants
//! stdout carries only the requested output; progress, notices and errors go to stderr. Text and JSON are printed
//! from the same record. A run that was stopped or failed leaves no file.
//!
//! # Error model
//! One line on stderr. Exit status: 0 done, 1 the run failed, 2 wrong arguments or configuration, 130 interrupted. It
//! is not a failure if the reader of stdout closes its end early.
//!
//! # What it does not implement
//! Any part of the model: that is in the libraries.
//!
//! The crate is a library with a thin `main.rs`: the Python package installs the same command.

mod args;
mod batch;
mod cancel;
mod commands;
mod errors;
#[cfg(any(feature = "serve", feature = "mount"))]
mod log;
mod progress;

use std::ffi::OsString;
use wafer_output as output;

use args::{Cli, Command};
use clap::{CommandFactory as _, FromArgMatches as _};

/// Runs the command line `arguments`, beginning with the program's name. Returns the exit status.
/// Help and a second Ctrl-C end the process.
pub fn main_with<T: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = T>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    // A shell requests completions through the variable COMPLETE.
    let here = std::env::current_dir().ok();
    let completer = clap_complete::CompleteEnv::with_factory(Cli::command);
    if completer.try_complete(arguments.clone(), here.as_deref()).unwrap_or_else(|e| e.exit()) {
        return 0;
    }
    let parsed = negative_numbers(Cli::command()).try_get_matches_from(arguments);
    let cli = match parsed.and_then(|found| Cli::from_arg_matches(&found)) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let result = match &cli.command {
        Command::Run(args) => commands::run::run(args, cli.quiet),
        Command::Report(args) => commands::report::run(args, cli.quiet),
        #[cfg(feature = "mount")]
        Command::Mount(args) => commands::mount::run(args, cli.quiet),
        Command::Advise(args) => commands::advise::run(args, cli.quiet),
        Command::Trace(command) => commands::trace::run(command, cli.quiet),
        #[cfg(feature = "serve")]
        Command::Serve(args) => commands::serve::run(args, cli.quiet),
        #[cfg(feature = "serve")]
        Command::Ctl(args) => wafer_ctl::run(args),
        Command::Measure(args) => commands::measure::run(args, cli.quiet),
        Command::Calibrate(args) => commands::calibrate::run(args, cli.quiet),
        #[cfg(feature = "tui")]
        Command::Top(args) => commands::top::run(args),
        Command::Compare(args) => commands::compare::run(args, cli.quiet),
        Command::Validate(args) => commands::validate::run(args, cli.quiet),
        Command::Reproduce(args) => commands::reproduce::run(args, cli.quiet),
        Command::Explain(args) => commands::explain::run(args, cli.quiet),
        Command::Explore(args) => commands::explore::run(args, cli.quiet),
        Command::Devices(args) => commands::devices::run(args, cli.quiet),
        Command::Policies(args) => commands::policies::run(args),
        Command::Models(args) => commands::models::run(args),
        Command::Cache(command) => commands::cache::run(command, cli.quiet),
        Command::Config(args) => commands::config::run(args, cli.quiet),
        Command::Schema(args) => commands::schema::run(args),
        Command::Completions { shell } => commands::shell::completions(*shell),
        Command::Man { command } => commands::shell::man(command),
    };
    match result {
        Ok(()) => 0,
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => {
            output::error(&errors::line(&error));
            errors::exit_code(&error)
        }
    }
}

/// Accepts negative numbers as values of options, whose errors then say what is expected.
fn negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    command.mut_subcommands(negative_numbers)
}

/// Prints help and version as clap does, and wrong arguments as one line.
fn usage(error: &clap::Error) -> u8 {
    use clap::error::ErrorKind::{
        DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion,
    };
    let shown = [DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion];
    if shown.contains(&error.kind()) {
        error.exit();
    }
    let text = error.render().to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty())
        .collect();
    let text = lines.join("; ").replace(":; ", ": ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    output::error(&format!("{text}; see --help"));
    #[cfg(not(all(feature = "serve", feature = "mount", feature = "tui")))]
    {
        let command =
            error.get(clap::error::ContextKind::InvalidSubcommand).map(ToString::to_string);
        let lacks = matches!(command.as_deref(), Some("serve" | "mount" | "top"));
        output::notice(!lacks, args::LACKS);
    }
    2
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
