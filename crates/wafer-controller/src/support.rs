//! The parts of the specification that the controller supports: the rows of the tables of `wafer_nvme` that have a
//! handler here.

use wafer_nvme::{
    AdminOpcode, Capabilities, CommandInfo, FabricsType, FeatureInfo, Fid, Lid, LogInfo, NvmOpcode,
};

/// The codes that have a handler.
pub struct Support {
    /// Admin commands of I/O controllers, without fabrics commands, for which the effects log has no
    /// entry.
    pub admin: &'static [AdminOpcode],
    /// I/O commands.
    pub io: &'static [NvmOpcode],
    /// Fabrics commands.
    pub fabrics: &'static [FabricsType],
    /// Log pages.
    pub log_pages: Vec<Lid>,
    /// Features.
    pub features: Vec<Fid>,
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

    /// Returns the capability bits of Identify Controller, given these admin commands.
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
}

#[cfg(test)]
#[path = "../tests/unit/support.rs"]
mod tests;
