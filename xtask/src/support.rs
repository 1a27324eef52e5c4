//! Generates the page of supported features from the tables of `wafer_nvme` and the handlers.

use std::fmt::Write as _;

use wafer_controller::Support;
use wafer_nvme::{
    ADMIN_COMMANDS, AdminOpcode, CommandInfo, DataTransfer, FABRICS_COMMANDS, FEATURES,
    IO_COMMANDS, LOG_PAGES, NamespaceUse, Scope,
};

/// Renders the specification's commands, log pages and features as Markdown tables.
pub(crate) fn page(support: &Support) -> String {
    let mut out = String::new();
    commands(&mut out, "Admin commands", ADMIN_COMMANDS, support.admin.iter().map(|code| code.0));
    commands(&mut out, "I/O commands", IO_COMMANDS, support.io.iter().map(|code| code.0));
    commands(
        &mut out,
        "Fabrics commands",
        FABRICS_COMMANDS,
        support.fabrics.iter().map(|code| code.0),
    );
    let pages = LOG_PAGES.iter().map(|row| {
        let supported = yes(support.log_pages.contains(&row.lid));
        [format!("{:#04x}", row.lid.0), row.name.into(), supported, scope(row.scope)]
    });
    table(&mut out, "Log pages", ["LID", "Log page", "Supported", "Scope"], pages);
    let features = FEATURES.iter().map(|row| {
        let supported = yes(support.features.contains(&row.fid));
        [format!("{:#04x}", row.fid.0), row.name.into(), supported, scope(row.scope)]
    });
    table(&mut out, "Features", ["FID", "Feature", "Supported", "Scope"], features);
    out
}

fn commands(
    out: &mut String,
    title: &str,
    rows: &'static [CommandInfo],
    supported: impl Iterator<Item = u8>,
) {
    let supported: Vec<u8> = supported.collect();
    let rows = rows.iter().map(|row| {
        let namespace = match row.namespace {
            NamespaceUse::None => "none",
            NamespaceUse::One => "one",
            NamespaceUse::OneOrAll => "one or all",
            NamespaceUse::Depends => "depends",
        };
        let data = match row.direction() {
            DataTransfer::None => "none",
            DataTransfer::HostToController => "from host",
            DataTransfer::ControllerToHost => "to host",
            DataTransfer::Bidirectional => "both",
        };
        // Fabrics commands have their own table.
        let has = row.opcode == AdminOpcode::FABRICS.0 || supported.contains(&row.opcode);
        [
            format!("{:#04x}", row.opcode),
            row.name.into(),
            yes(has),
            row.clause.into(),
            namespace.into(),
            data.into(),
        ]
    });
    table(out, title, ["Code", "Command", "Supported", "Clause", "Namespace", "Data"], rows);
}

fn table<const N: usize>(
    out: &mut String,
    title: &str,
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "## {title}\n\n| {} |\n|{}", head.join(" | "), "---|".repeat(N));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out.push('\n');
}

fn yes(supported: bool) -> String {
    if supported { "yes" } else { "no" }.to_owned()
}

fn scope(scope: Scope) -> String {
    match scope {
        Scope::Controller => "controller",
        Scope::Namespace => "namespace",
        Scope::EnduranceGroup => "endurance group",
        Scope::Subsystem => "subsystem",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_names_what_is_supported() {
        let matrix = page(&wafer_controller::support(wafer_io::SUPPORTED));
        for line in [
            "| 0x80 | Format NVM | yes | Base 2.1, 5.1.10 | one or all | none |",
            "| 0x84 | Sanitize | yes | Base 2.1, 5.1.22 | none | none |",
            "| 0x19 | Copy | yes | NVM 1.1, chapter 3 | one | from host |",
            "| 0x22 | FDP Statistics | yes | endurance group |",
            "| 0x06 | Device Self-test | yes | subsystem |",
            "| 0x1d | Flexible Data Placement | yes | endurance group |",
        ] {
            assert!(matrix.lines().any(|l| l == line), "{line}\n{matrix}");
        }
    }
}
