//! Where garbage collection puts valid data, as resolved from configuration and policy.

/// Where garbage collection puts valid data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relocation {
    /// Into the open reclaim unit that the host writes through the same handle (one log).
    Shared,
    /// By isolation: one reclaim unit for all initially isolated handles of a group, one for each
    /// persistently isolated handle.
    ByIsolation,
    /// By handle and by how often the data was moved, at most this number of generations apart.
    ByHandle(u8),
    /// By isolation of a handle that writes at the time, whoever wrote the victim.
    ByWriter,
}

impl Relocation {
    /// Generations of relocated data that are kept apart.
    pub(crate) fn generations(self) -> u8 {
        match self {
            Relocation::ByHandle(generations) => generations,
            Relocation::Shared | Relocation::ByIsolation | Relocation::ByWriter => 1,
        }
    }
}
