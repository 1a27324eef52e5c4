//! The position of an invalid field in a command, derived from the layouts.

use crate::*;

/// Byte and bit of a submission queue entry, as in the Parameter Error Location of the error log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Byte.
    pub byte: u8,
    /// Bit of the byte.
    pub bit: u8,
}

impl Location {
    /// Returns the location of bit `bit` of the field at offset `byte`.
    pub const fn new(byte: usize, bit: u32) -> Self {
        let at = byte as u32 * 8 + bit;
        Location { byte: (at / 8) as u8, bit: (at % 8) as u8 }
    }

    /// Encodes the location for an error log entry: byte in bits 7:0, bit in bits 10:8.
    pub const fn encode(self) -> u16 {
        self.byte as u16 | (self.bit as u16) << 8
    }
}

/// Returns the [`Location`] of a field of [`Sqe`], or of another layout of 64 bytes.
#[macro_export]
macro_rules! location {
    ($field:ident) => {
        $crate::location!($crate::Sqe, $field)
    };
    ($command:ty, $field:ident) => {
        $crate::Location::new(core::mem::offset_of!($command, $field), 0)
    };
}

/// Ties a command dword to its position in the submission queue entry.
macro_rules! dword {
    ($($name:ident at $field:ident),* $(,)?) => {$(
        impl $name {
            /// Reads the dword of a command.
            pub fn of(sqe: &$crate::Sqe) -> Self {
                Self::from(sqe.$field.get())
            }

            /// Returns the location of the lowest set bit: `new().with_field(1).location()` is the
            /// location of a field.
            pub const fn location(self) -> $crate::Location {
                let byte = core::mem::offset_of!($crate::Sqe, $field);
                $crate::Location::new(byte, self.into_bits().trailing_zeros())
            }
        }
    )*};
}

dword! {
    AbortCdw10 at cdw10,
    IdentifyCdw10 at cdw10, IdentifyCdw11 at cdw11,
    FirmwareCommitCdw10 at cdw10, LockdownCdw10 at cdw10,
    GetLogCdw10 at cdw10, GetLogCdw11 at cdw11, GetLogCdw14 at cdw14,
    GetFeaturesCdw10 at cdw10, FeatureCdw14 at cdw14, SetFeaturesCdw10 at cdw10,
    FeatureGroup at cdw11, HostIdentifierCdw11 at cdw11, PowerManagement at cdw11, NumberOfQueues at cdw11,
    TemperatureThreshold at cdw11, WriteProtectionCdw11 at cdw11,
    FdpEventsCdw11 at cdw11, FdpEventsCdw12 at cdw12, FdpFeature at cdw12,
    DirectiveCdw11 at cdw11, DirectiveEnable at cdw12, StreamsRequested at cdw12,
    NamespaceCdw10 at cdw10, FormatCdw10 at cdw10, SanitizeCdw10 at cdw10, SelfTestCdw10 at cdw10,
    LbaStatusCdw13 at cdw13,
    RegisterCdw10 at cdw10, ReservationCdw10 at cdw10, ReportCdw11 at cdw11, ReservationPersistence at cdw11,
    ReservationMask at cdw11, OcpErrorInjectionCdw11 at cdw11,
    RwCdw12 at cdw12, RwCdw13 at cdw13, CopyCdw12 at cdw12,
    DsmCdw10 at cdw10, DsmCdw11 at cdw11, IoManagementCdw10 at cdw10,
}
