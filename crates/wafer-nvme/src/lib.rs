//! Byte layouts and command tables of NVMe, without any logic.
//!
//! # What it is
//! The structures of NVMe Base 2.1, the NVM Command Set 1.1, Flexible Data Placement (Base 2.1, 8.1.10),
//! NVMe over Fabrics (Base 2.1, chapter 6) and the TCP transport 1.1, as far as the target and the
//! initiator use them. Figures are cited by the name of the structure or field, which is the same in all
//! revisions.
//!
//! # Architecture
//! - `opcode.rs`: the table of commands; `table.rs`: the contents of a row, also for log pages and
//!   features, and what is derived from it.
//! - `queue.rs`: submission and completion queue entries, SGL descriptors; `status.rs`.
//! - `location.rs`: the position of an invalid field in a command, computed from the layouts.
//! - `controller.rs`: controller properties. `identify.rs`, `namespace.rs`: Identify data.
//! - `log.rs`, `fdp.rs`, `feature.rs`, `directive.rs`: log pages, FDP, features, directives.
//! - `self_test.rs`: Device Self-test. `firmware.rs`: firmware commands and images. `lockdown.rs`: Lockdown.
//!   `persistent_event.rs`: the persistent event log. `ocp.rs`: what the OCP Datacenter NVMe SSD specification adds.
//! - `nvm.rs`: I/O commands. `fabrics.rs`, `tcp.rs`: connecting, discovery, PDUs. `auth.rs`: authentication.
//!
//! # Invariants
//! - Memory structures are `repr(C)` and contain only unaligned little-endian numbers (`zerocopy`): every
//!   byte string of the right size is a value, and a value is its bytes. Sizes and offsets are asserted at
//!   compile time.
//! - Command dwords and flags are `bitfield-struct`s.
//! - Codes are open enumerations: a transparent integer with named constants, so unknown values are
//!   preserved.
//! - Zero-based fields have names ending in `_z`. Reserved fields are named after their offset.
//!
//! # Error model
//! None: nothing here can fail.
//!
//! # What it does not implement
//! Logic, transports other than TCP, zoned and key-value command sets, metadata, protection information.

#![no_std]
#![forbid(unsafe_code)]

pub mod auth;
mod controller;
mod digest;
mod directive;
mod fabrics;
mod fdp;
mod feature;
mod firmware;
mod identify;
mod location;
mod lockdown;
mod log;
mod namespace;
mod nvm;
mod ocp;
mod opcode;
mod persistent_event;
mod queue;
mod reservation;
mod self_test;
mod status;
mod table;
mod tcp;

pub use controller::*;
pub use digest::crc32c;
pub use directive::*;
pub use fabrics::*;
pub use fdp::*;
pub use feature::*;
pub use firmware::*;
pub use identify::*;
pub use location::Location;
pub use lockdown::*;
pub use log::*;
pub use namespace::*;
pub use nvm::*;
pub use ocp::*;
pub use opcode::*;
pub use persistent_event::*;
pub use queue::*;
pub use reservation::*;
pub use self_test::*;
pub use status::*;
pub use table::{Capabilities, CommandInfo, DataLength, FeatureInfo, LogInfo, NamespaceUse, Scope};
pub use tcp::*;
pub use zerocopy;
pub use zerocopy::little_endian::{U16, U32, U64, U128};

/// A transparent integer with names for its known values.
macro_rules! open_enum {
    ($(#[$doc:meta])* $name:ident($inner:ty) { $($(#[$vdoc:meta])* $value:ident = $number:expr,)* }) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, zerocopy::FromBytes, zerocopy::IntoBytes,
            zerocopy::Immutable, zerocopy::KnownLayout,
        )]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            $($(#[$vdoc])* pub const $value: $name = $name($number);)*

            /// Every known value.
            pub const KNOWN: &'static [$name] = &[$($name::$value,)*];

            /// Returns the name of a known value.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $($name::$value => Some(stringify!($value)),)*
                    _ => None,
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, concat!(stringify!($name), "({:#x})"), self.0),
                }
            }
        }
    };
}
pub(crate) use open_enum;

/// A structure with the layout it has in memory or on the wire.
macro_rules! layout {
    ($(#[$doc:meta])* pub struct $name:ident: $size:literal {
        $($(#[$fdoc:meta])* $vis:vis $field:ident: $type:ty,)*
    } $(at { $($at:ident: $offset:literal),* $(,)? })?) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, zerocopy::FromBytes, zerocopy::IntoBytes,
            zerocopy::Immutable, zerocopy::KnownLayout, zerocopy::Unaligned,
        )]
        #[repr(C)]
        pub struct $name {
            $($(#[$fdoc])* $vis $field: $type,)*
        }
        const _: () = assert!(size_of::<$name>() == $size);
        $($(const _: () = assert!(core::mem::offset_of!($name, $at) == $offset);)*)?

        impl Default for $name {
            /// Returns a structure of zeroes.
            fn default() -> Self {
                zerocopy::FromZeros::new_zeroed()
            }
        }
    };
}
pub(crate) use layout;
pub(crate) use table::table;
