//! The `wafer` binary; everything is in [`wafer_cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(wafer_cli::main_with(std::env::args_os()))
}
