//! Translation of placement indices to placement identifiers.

use wafer_device::Geometry;
use wafer_interface::{Command, NsId, Placement, StreamDescription};

/// Translates the placement indices of a workload to placement identifiers. Indices follow the order of the namespace's
/// Reclaim Unit Handle Status, which lists every group of every handle.
#[derive(Debug)]
pub struct Placements(Option<Vec<Vec<Placement>>>);

/// An identifier that no namespace defines, other than [`Placement::NONE`].
const UNKNOWN: Placement = Placement(u16::MAX - 1);

impl Placements {
    /// Returns the translation for a stream. With one reclaim group, index and identifier are the same.
    pub fn of(geometry: &Geometry, description: StreamDescription) -> Self {
        if geometry.groups == 1 || description.identifiers {
            return Placements(None);
        }
        let groups = geometry.groups;
        let table = |handles: &Vec<u16>| {
            let each = (0..handles.len() as u16).flat_map(|handle| {
                (0..groups).map(move |group| Placement::of(groups, group, handle))
            });
            each.collect()
        };
        Placements(Some(geometry.namespace_handles.iter().map(table).collect()))
    }

    /// Translates the placements of commands.
    pub fn resolve(&self, commands: &mut [Command]) {
        if self.0.is_some() {
            for command in commands.iter_mut().filter(|c| c.placement != Placement::NONE) {
                command.placement = self.identifier(command.namespace, command.placement.0);
            }
        }
    }

    /// Returns the identifier of an index.
    pub fn identifier(&self, namespace: NsId, index: u16) -> Placement {
        let Some(tables) = &self.0 else { return Placement(index) };
        let table = tables.get(namespace.index());
        table.and_then(|t| t.get(usize::from(index))).copied().unwrap_or(UNKNOWN)
    }
}
