//! Definitions of the specification: a row for each command, log page and feature.
//!
//! A table names the codes, and everything derived from a code is in its row: the Commands Supported and
//! Effects log, the capability bits of Identify Controller, the length of a command's data, and the support
//! matrix. The controller determines which rows it supports.

use crate::*;

/// A code of the specification, its row, and the table of all rows.
macro_rules! table {
    ($(#[$doc:meta])* $code:ident, $rows:ident: [$row:ident] {
        $($name:ident = $number:literal, $title:literal $(.$method:ident($($arg:expr),*))*;)*
    }) => {
        crate::open_enum! {
            $(#[$doc])*
            $code(u8) { $(#[doc = concat!($title, ".")] $name = $number,)* }
        }

        #[doc = concat!("Every [`", stringify!($code), "`] of the specification, ascending.")]
        pub const $rows: &[$row] = &[$($row::new($number, $title)$(.$method($($arg),*))*,)*];

        impl $code {
            /// Returns the row of a known code.
            pub const fn info(self) -> Option<&'static $row> {
                match self {
                    $($code::$name => {
                        const ROW: &$row = &$row::new($number, $title)$(.$method($($arg),*))*;
                        Some(ROW)
                    })*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use table;

/// Capability bits of Identify Controller for commands, log pages and features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Optional Admin Command Support.
    pub oacs: u16,
    /// Optional NVM Command Support.
    pub oncs: u16,
    /// Optional Fabrics Commands Support.
    pub ofcs: u16,
    /// Log Page Attributes.
    pub lpa: u8,
}

impl Capabilities {
    /// No bit.
    pub const NONE: Self = Capabilities { oacs: 0, oncs: 0, ofcs: 0, lpa: 0 };

    /// Returns the union of both sets of bits.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Capabilities {
            oacs: self.oacs | other.oacs,
            oncs: self.oncs | other.oncs,
            ofcs: self.ofcs | other.ofcs,
            lpa: self.lpa | other.lpa,
        }
    }
}

/// How a command uses its NSID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceUse {
    /// Ignored.
    None,
    /// One namespace.
    One,
    /// One namespace, or all with 0xffffffff.
    OneOrAll,
    /// Depends on another field.
    Depends,
}

/// The number of bytes a command transfers.
#[derive(Clone, Copy, Debug)]
pub enum DataLength {
    /// None, or decided by the command's handler.
    Handler,
    /// As many logical blocks as NLB states.
    Blocks,
    /// Entries of fixed size, counted by a field.
    Entries {
        /// Bytes of an entry.
        bytes: u64,
        /// Returns the number of entries.
        count: fn(&Sqe) -> u64,
    },
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub struct CommandInfo {
    /// Opcode, or type of a fabrics command.
    pub opcode: u8,
    /// Name.
    pub name: &'static str,
    /// Clause of the specification.
    pub clause: &'static str,
    /// Use of the NSID.
    pub namespace: NamespaceUse,
    /// Length of the data.
    pub data: DataLength,
    /// Entry of the Commands Supported and Effects log.
    pub effects: CommandEffects,
    /// Bits that announce its support.
    pub capabilities: Capabilities,
    /// Whether discovery controllers may support it.
    pub discovery: bool,
}

impl CommandInfo {
    pub(crate) const fn new(opcode: u8, name: &'static str) -> Self {
        CommandInfo {
            opcode,
            name,
            clause: "",
            namespace: NamespaceUse::None,
            data: DataLength::Handler,
            effects: CommandEffects::new().with_csupp(true),
            capabilities: Capabilities::NONE,
            discovery: false,
        }
    }

    pub(crate) const fn clause(mut self, clause: &'static str) -> Self {
        self.clause = clause;
        self
    }

    pub(crate) const fn namespace(mut self, usage: NamespaceUse) -> Self {
        self.namespace = usage;
        self
    }

    pub(crate) const fn data(mut self, length: DataLength) -> Self {
        self.data = length;
        self
    }

    pub(crate) const fn effects(mut self, effects: CommandEffects) -> Self {
        self.effects = effects.with_csupp(true);
        self
    }

    pub(crate) const fn oacs(mut self, bits: Oacs) -> Self {
        self.capabilities.oacs = bits.into_bits();
        self
    }

    pub(crate) const fn oncs(mut self, bits: Oncs) -> Self {
        self.capabilities.oncs = bits.into_bits();
        self
    }

    pub(crate) const fn ofcs(mut self, bits: u16) -> Self {
        self.capabilities.ofcs = bits;
        self
    }

    pub(crate) const fn discovery(mut self) -> Self {
        self.discovery = true;
        self
    }

    /// Returns the direction of the data.
    pub const fn direction(&self) -> DataTransfer {
        DataTransfer::of(self.opcode)
    }
}

/// The owner of a log page or a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The controller.
    Controller,
    /// A namespace.
    Namespace,
    /// An endurance group.
    EnduranceGroup,
    /// The NVM subsystem.
    Subsystem,
}

/// A log page.
#[derive(Clone, Copy, Debug)]
pub struct LogInfo {
    /// Log Page Identifier.
    pub lid: Lid,
    /// Name.
    pub name: &'static str,
    /// Its owner.
    pub scope: Scope,
    /// Bits that announce its support.
    pub capabilities: Capabilities,
    /// LID Specific Parameter of the Supported Log Pages log.
    pub specific: u16,
    /// Whether only discovery controllers have it.
    pub discovery: bool,
}

impl LogInfo {
    pub(crate) const fn new(lid: u8, name: &'static str) -> Self {
        let capabilities = Capabilities::NONE;
        let (lid, scope) = (Lid(lid), Scope::Controller);
        LogInfo { lid, name, scope, capabilities, specific: 0, discovery: false }
    }

    pub(crate) const fn specific(mut self, specific: u16) -> Self {
        self.specific = specific;
        self
    }

    pub(crate) const fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    pub(crate) const fn lpa(mut self, bits: Lpa) -> Self {
        self.capabilities.lpa = bits.into_bits();
        self
    }

    pub(crate) const fn discovery(mut self) -> Self {
        self.discovery = true;
        self
    }
}

/// A feature.
#[derive(Clone, Copy, Debug)]
pub struct FeatureInfo {
    /// Feature Identifier.
    pub fid: Fid,
    /// Name.
    pub name: &'static str,
    /// Its owner.
    pub scope: Scope,
    /// Whether a host can change it.
    pub changeable: bool,
    /// Whether its value survives a reset.
    pub saveable: bool,
    /// Bits that announce its support.
    pub capabilities: Capabilities,
    /// Whether discovery controllers may support it.
    pub discovery: bool,
}

impl FeatureInfo {
    pub(crate) const fn new(fid: u8, name: &'static str) -> Self {
        FeatureInfo {
            fid: Fid(fid),
            name,
            scope: Scope::Controller,
            changeable: true,
            saveable: false,
            capabilities: Capabilities::NONE,
            discovery: false,
        }
    }

    pub(crate) const fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    pub(crate) const fn oncs(mut self, bits: Oncs) -> Self {
        self.capabilities.oncs = bits.into_bits();
        self
    }

    pub(crate) const fn saveable(mut self) -> Self {
        self.saveable = true;
        self
    }

    pub(crate) const fn fixed(mut self) -> Self {
        self.changeable = false;
        self
    }

    pub(crate) const fn discovery(mut self) -> Self {
        self.discovery = true;
        self
    }

    /// Returns the entry of the Feature Identifiers Supported and Effects log: supported, whether a UUID may select the
    /// feature, and the scope in bits 31:20.
    pub const fn effects(&self) -> u32 {
        let by_uuid = (self.fid.0 >= 0xc0) as u32;
        1 | by_uuid << 19
            | match self.scope {
                Scope::Namespace => 1 << 20,
                Scope::Controller => 1 << 21,
                Scope::EnduranceGroup => 1 << 23,
                Scope::Subsystem => 1 << 25,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_ascend_and_codes_find_them() {
        let codes = |rows: &'static [CommandInfo]| rows.iter().map(|row| row.opcode);
        for rows in [ADMIN_COMMANDS, IO_COMMANDS, FABRICS_COMMANDS] {
            assert!(codes(rows).is_sorted_by(|a, b| a < b));
            assert!(rows.iter().all(|row| !row.clause.is_empty()));
        }
        assert!(LOG_PAGES.is_sorted_by(|a, b| a.lid < b.lid));
        assert!(FEATURES.is_sorted_by(|a, b| a.fid < b.fid));
        assert_eq!(NvmOpcode::COPY.info().map(|row| row.name), Some("Copy"));
        assert_eq!(AdminOpcode(0xff).info().map(|row| row.name), None);
    }

    #[test]
    fn locations_are_those_of_the_specification() {
        let at = |byte, bit| Location { byte, bit };
        assert_eq!(location!(nsid), at(4, 0));
        assert_eq!(RwCdw12::new().with_dtype(1).location(), at(50, 4));
        assert_eq!(GetLogCdw14::new().with_ot(true).location(), at(58, 7));
        assert_eq!(CopyCdw12::new().with_desfmt(1).location(), at(49, 0));
        assert_eq!(at(50, 4).encode(), 0x0432);
    }
}
