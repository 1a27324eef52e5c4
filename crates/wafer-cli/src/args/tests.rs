//! The command line is well formed, and nonsense is refused with its option.

use clap::CommandFactory as _;

use super::*;

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

/// Values that no number, size, time, address or choice can have.
const NONSENSE: [&str; 12] = [
    "nan",
    "inf",
    "-inf",
    "-1",
    "-0.5",
    "1e308",
    "99999999999999999999",
    "5xyz",
    "",
    "1 1",
    "[]",
    "\u{1b}[31m",
];
/// Options whose value is any text here: checked with what it names, if at all.
const TEXT: [&str; 18] = [
    "baseline",
    "command",
    "device",
    "host",
    "name",
    "names",
    "nqn",
    "nvme_cli",
    "pace",
    "place",
    "policies",
    "serial",
    "set",
    "status",
    "subsystem",
    "title",
    "trace_set",
    "url",
];

/// Parses every option of every command under every nonsense value: refused in a message that names the
/// option, or declared above to be text or a path.
#[test]
fn nonsense_is_refused_by_the_name_of_the_option() {
    fn walk(path: &[String], command: &clap::Command, tried: &mut u32) {
        for below in command.get_subcommands() {
            walk(&[path, &[below.get_name().to_owned()]].concat(), below, tried);
        }
        for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values()) {
            let id = arg.get_id().as_str();
            let is_path = matches!(
                arg.get_value_hint(),
                clap::ValueHint::FilePath | clap::ValueHint::DirPath | clap::ValueHint::AnyPath
            );
            if is_path || TEXT.contains(&id) {
                continue;
            }
            let Some(long) = arg.get_long() else { continue };
            for value in NONSENSE {
                // A token may be a number, if it is long enough.
                if id.ends_with("token") && value.len() >= 8 && !value.contains('\u{1b}') {
                    continue;
                }
                *tried += 1;
                let line = [path, &[format!("--{long}={value}")]].concat();
                let error = Cli::try_parse_from(&line).err().map(|e| e.to_string());
                let named = error.as_ref().is_some_and(|e| e.contains(&format!("--{long}")));
                assert!(named, "{line:?}: {error:?}");
            }
        }
    }
    let mut tried = 0;
    walk(&["wafer".to_owned()], &Cli::command(), &mut tried);
    assert!(tried > 400, "{tried}");
}
