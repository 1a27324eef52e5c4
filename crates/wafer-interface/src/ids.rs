//! Newtypes for numbers of the specification, and the unit of logical blocks.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// Returns the id as an array index.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A physical reclaim unit (RU), `0..reclaim_unit.count` over all reclaim groups.
    RuId(u32)
);
id!(
    /// A reclaim unit handle (RUH) of the device, `0..handles`.
    RuhId(u16)
);
id!(
    /// A reclaim group (RG), `0..groups`.
    RgId(u16)
);
id!(
    /// A namespace, by its position in the configuration, from 0 (NSID minus one).
    NsId(u8)
);

/// Bytes of one logical block in commands. This granularity addresses every LBA format in use; a device's page is a
/// multiple of it.
pub const LBA_BYTES: u64 = 512;
