//! What the controller supports of the specification: the tables of `wafer_nvme`, and which rows have a
//! handler here.

use std::fmt::Write as _;

use wafer_nvme::{
    ADMIN_COMMANDS, AdminOpcode, Capabilities, CommandInfo, DataTransfer, FABRICS_COMMANDS,
    FEATURES, FabricsType, FeatureInfo, Fid, IO_COMMANDS, LOG_PAGES, Lid, LogInfo, NamespaceUse,
    NvmOpcode, Scope,
};

/// The codes that have a handler.
pub(crate) struct Support {
    /// Admin commands of I/O controllers. Those of fabrics are not among them: the effects log has no entry
    /// for them.
    pub(crate) admin: &'static [AdminOpcode],
    pub(crate) io: &'static [NvmOpcode],
    pub(crate) fabrics: &'static [FabricsType],
    pub(crate) log_pages: Vec<Lid>,
    pub(crate) features: Vec<Fid>,
}

impl Support {
    /// Returns the rows of the admin commands.
    pub(crate) fn admin_commands(&self) -> impl Iterator<Item = &'static CommandInfo> {
        self.admin.iter().filter_map(|opcode| opcode.info())
    }

    /// Returns the rows of the I/O commands.
    pub(crate) fn io_commands(&self) -> impl Iterator<Item = &'static CommandInfo> {
        self.io.iter().filter_map(|opcode| opcode.info())
    }

    fn fabrics_commands(&self) -> impl Iterator<Item = &'static CommandInfo> {
        self.fabrics.iter().filter_map(|fctype| fctype.info())
    }

    fn log_pages(&self) -> impl Iterator<Item = &'static LogInfo> {
        self.log_pages.iter().filter_map(|lid| lid.info())
    }

    /// Returns the rows of the features.
    pub(crate) fn features(&self) -> impl Iterator<Item = &'static FeatureInfo> {
        self.features.iter().filter_map(|fid| fid.info())
    }

    /// Returns the capability bits of Identify Controller, with these admin commands.
    pub(crate) fn capabilities(
        &self,
        admin: impl Iterator<Item = &'static CommandInfo>,
    ) -> Capabilities {
        let commands = admin.chain(self.io_commands());
        (commands.chain(self.fabrics_commands()).map(|row| row.capabilities))
            .chain(self.log_pages().map(|row| row.capabilities))
            .chain(self.features().map(|row| row.capabilities))
            .fold(Capabilities::NONE, Capabilities::union)
    }

    /// Renders the specification's commands, log pages and features as Markdown tables.
    pub(crate) fn matrix(&self) -> String {
        let mut out = String::new();
        commands(&mut out, "Admin commands", ADMIN_COMMANDS, self.admin_commands());
        commands(&mut out, "I/O commands", IO_COMMANDS, self.io_commands());
        commands(&mut out, "Fabrics commands", FABRICS_COMMANDS, self.fabrics_commands());
        let pages = LOG_PAGES.iter().map(|row| {
            let supported = yes(self.log_pages.contains(&row.lid));
            [format!("{:#04x}", row.lid.0), row.name.into(), supported, scope(row.scope)]
        });
        table(&mut out, "Log pages", ["LID", "Log page", "Supported", "Scope"], pages);
        let features = FEATURES.iter().map(|row| {
            let supported = yes(self.features.contains(&row.fid));
            [format!("{:#04x}", row.fid.0), row.name.into(), supported, scope(row.scope)]
        });
        table(&mut out, "Features", ["FID", "Feature", "Supported", "Scope"], features);
        out
    }
}

fn commands(
    out: &mut String,
    title: &str,
    rows: &'static [CommandInfo],
    supported: impl Iterator<Item = &'static CommandInfo>,
) {
    let supported: Vec<u8> = supported.map(|row| row.opcode).collect();
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
#[path = "../tests/unit/support.rs"]
mod tests;
