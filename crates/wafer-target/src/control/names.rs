//! Opcodes and statuses in the notation of operators.

use wafer_nvme::{ADMIN_COMMANDS, AdminOpcode, CommandInfo, IO_COMMANDS, Status};

/// Converts a name to kebab case.
fn kebab(name: &str) -> String {
    let replaced = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    replaced.collect::<String>().to_ascii_lowercase()
}

fn number(text: &str) -> Option<u8> {
    match text.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Parses an opcode. Returns whether it is an admin command, and its code.
///
/// # Errors
/// It is unknown, or belongs to fabrics commands.
pub(super) fn opcode(text: &str) -> Result<(bool, u8), String> {
    let wanted = kebab(text);
    let named = |rows: &'static [CommandInfo]| rows.iter().find(|row| kebab(row.name) == wanted);
    let found = if let Some((queue, code)) = text.split_once(':') {
        let admin = [("admin", true), ("io", false)].into_iter().find(|(name, _)| *name == queue);
        admin.and_then(|(_, admin)| Some((admin, number(code)?)))
    } else if let Some(row) = named(ADMIN_COMMANDS) {
        Some((true, row.opcode))
    } else {
        named(IO_COMMANDS).map(|row| (false, row.opcode))
    };
    match found {
        Some((_, code)) if code == AdminOpcode::FABRICS.0 => {
            Err("fabrics commands cannot be made to fail".to_owned())
        }
        Some(found) => Ok(found),
        None => Err(format!(
            "unknown opcode `{text}`; expected a name such as `read` or `get-log-page`, or a code such as \
             `io:0x02` or `admin:0x06`"
        )),
    }
}

/// Parses a status.
///
/// # Errors
/// It is unknown, or success.
pub(super) fn status(text: &str) -> Result<u16, String> {
    let wanted = kebab(text);
    let named = |status: &&Status| status.name().is_some_and(|name| kebab(name) == wanted);
    let status = match text.split_once('/') {
        Some((kind, code)) => number(kind)
            .filter(|kind| *kind < 8)
            .zip(number(code))
            .map(|(kind, code)| Status(u16::from(kind) << 8 | u16::from(code))),
        None => Status::KNOWN.iter().find(named).copied(),
    };
    match status {
        Some(status) if status.is_success() => {
            Err("a command that fails needs an error".to_owned())
        }
        Some(status) => Ok(status.0),
        None => Err(format!(
            "unknown status `{text}`; expected a name such as `unrecovered-read-error`, or a type and code such as \
             `2/0x81`"
        )),
    }
}

/// Returns the name of a command, or its code.
pub(super) fn command(admin: bool, opcode: u8) -> String {
    let rows = if admin { ADMIN_COMMANDS } else { IO_COMMANDS };
    match rows.iter().find(|row| row.opcode == opcode) {
        Some(row) => kebab(row.name),
        None => format!("{}:{opcode:#04x}", if admin { "admin" } else { "io" }),
    }
}

/// Returns the name of a status, or its type and code.
pub(super) fn status_name(status: u16) -> String {
    let status = Status(status);
    let code = || format!("{}/{:#04x}", status.code_type(), status.code());
    status.name().map_or_else(code, kebab)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for (admin, rows) in [(true, ADMIN_COMMANDS), (false, IO_COMMANDS)] {
            for row in rows.iter().filter(|row| row.opcode != AdminOpcode::FABRICS.0) {
                assert_eq!(opcode(&command(admin, row.opcode)), Ok((admin, row.opcode)));
            }
        }
        for known in Status::KNOWN.iter().filter(|status| !status.is_success()) {
            assert_eq!(status(&status_name(known.0)), Ok(known.0));
        }
        assert_eq!(opcode(&command(false, 0xee)), Ok((false, 0xee)));
        assert_eq!(status(&status_name(0x7ab)), Ok(0x7ab));
    }

    #[test]
    fn codes_are_in_range_and_case_does_not_matter() {
        assert_eq!(opcode("Write Zeroes"), Ok((false, 0x08)));
        assert_eq!(opcode("admin:6"), Ok((true, 6)));
        assert_eq!(status("WRITE_FAULT"), Ok(0x280));
        assert_eq!(status("2/129"), Ok(0x281));
        for wrong in ["", "reed", "io:", "io:0x100", "nvme:1", "admin:-1", "admin:0x7f"] {
            assert!(opcode(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "success", "0/0", "8/0", "2/", "2/256", "/1", "2/0x"] {
            assert!(status(wrong).is_err(), "{wrong}");
        }
    }
}
