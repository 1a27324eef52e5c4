//! The `wafer` binary; [`wafer_cli`] has everything.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(wafer_cli::main_with(std::env::args_os()))
}
