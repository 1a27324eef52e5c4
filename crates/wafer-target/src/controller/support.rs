//! The supported part of the specification: rows of the tables of `wafer_nvme` that have a handler here.

use std::fmt::Write as _;

use wafer_nvme::{
    ADMIN_COMMANDS, AdminOpcode, Capabilities, CommandInfo, DataTransfer, FABRICS_COMMANDS,
    FEATURES, FeatureInfo, IO_COMMANDS, LOG_PAGES, LogInfo, NamespaceUse, Scope,
};

/// The rows of the tables that have a handler.
pub(crate) struct Support {
    /// Admin commands of I/O controllers, without fabrics commands.
    pub(crate) admin: Vec<&'static CommandInfo>,
    pub(crate) io: Vec<&'static CommandInfo>,
    pub(crate) fabrics: Vec<&'static CommandInfo>,
    pub(crate) log_pages: Vec<&'static LogInfo>,
    pub(crate) features: Vec<&'static FeatureInfo>,
}

impl Support {
    /// Returns the capability bits of Identify Controller.
    pub(crate) fn capabilities(&self) -> Capabilities {
        let commands = [&self.admin, &self.io, &self.fabrics].into_iter().flatten();
        (commands.map(|row| row.capabilities))
            .chain(self.log_pages.iter().map(|row| row.capabilities))
            .chain(self.features.iter().map(|row| row.capabilities))
            .fold(Capabilities::NONE, Capabilities::union)
    }

    /// Renders the specification's commands, log pages and features as Markdown tables.
    pub(crate) fn matrix(&self) -> String {
        let mut out = String::new();
        commands(&mut out, "Admin commands", ADMIN_COMMANDS, &self.admin);
        commands(&mut out, "I/O commands", IO_COMMANDS, &self.io);
        commands(&mut out, "Fabrics commands", FABRICS_COMMANDS, &self.fabrics);
        let pages = LOG_PAGES.iter().map(|row| {
            let supported = self.log_pages.iter().any(|has| has.lid == row.lid);
            [format!("{:#04x}", row.lid.0), row.name.into(), yes(supported), scope(row.scope)]
        });
        table(&mut out, "Log pages", ["LID", "Log page", "Supported", "Scope"], pages);
        let features = FEATURES.iter().map(|row| {
            let supported = self.features.iter().any(|has| has.fid == row.fid);
            [format!("{:#04x}", row.fid.0), row.name.into(), yes(supported), scope(row.scope)]
        });
        table(&mut out, "Features", ["FID", "Feature", "Supported", "Scope"], features);
        out
    }
}

fn commands(out: &mut String, title: &str, rows: &[CommandInfo], supported: &[&CommandInfo]) {
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
        // Fabrics commands have a table of their own.
        let has = row.opcode == AdminOpcode::FABRICS.0
            || supported.iter().any(|has| has.opcode == row.opcode);
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
    use crate::controller::{admin, fabrics, features, io, logs, support, support_matrix};

    #[test]
    fn every_handler_has_a_row() {
        let support = support();
        assert_eq!(support.admin.len(), admin::COMMANDS.len());
        assert_eq!(support.io.len(), io::COMMANDS.len());
        assert_eq!(support.fabrics.len(), fabrics::SUPPORTED.len());
        assert_eq!(support.log_pages.len(), logs::PAGES.len());
        assert_eq!(support.features.len(), features::FEATURES.len());
    }

    #[test]
    fn the_matrix_names_what_is_supported() {
        let matrix = support_matrix();
        for line in [
            "| 0x80 | Format NVM | yes | Base 2.1, 5.1.10 | one or all | none |",
            "| 0x84 | Sanitize | no | Base 2.1, 5.1.22 | none | none |",
            "| 0x19 | Copy | yes | NVM 1.1, chapter 3 | one | from host |",
            "| 0x22 | FDP Statistics | yes | endurance group |",
            "| 0x06 | Device Self-test | no | controller |",
            "| 0x1d | Flexible Data Placement | yes | endurance group |",
        ] {
            assert!(matrix.lines().any(|l| l == line), "{line}\n{matrix}");
        }
    }
}
