//! Device Capabilities of OCP: what the handlers of commands can do. Bits that say that all requirements are met stay
//! clear: there is no PCI Express, whose requirements are among them.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{AdminOpcode, DEVICE_CAPABILITIES_GUID, Lid, NvmOpcode, OcpDeviceCapabilitiesLog};

use super::Page;
use crate::identify::{FUSED, SANITIZE};

/// The command itself.
const COMMAND: u16 = 1;
/// Write Zeroes: the command, Deallocate, Force Unit Access.
const WRITE_ZEROES: u16 = 1 << 2 | 1 << 1 | COMMAND;
/// Dataset Management: the command, Deallocate.
const DATASET_MANAGEMENT: u16 = 1 << 1 | COMMAND;
/// Write Uncorrectable: the command, single blocks, as many as the field holds.
const WRITE_UNCORRECTABLE: u16 = 1 << 2 | 1 << 1 | COMMAND;
/// Sanitize: what it erased is deallocated.
const DEALLOCATES: u16 = 1 << 4;

pub(super) const PAGE: Page = Page {
    lid: Lid::OCP_DEVICE_CAPABILITIES,
    read: |controller, _| {
        let support = &controller.subsystem.support;
        let io = |opcode: NvmOpcode, bits: u16| {
            if support.io.contains(&opcode) { bits } else { 0 }.into()
        };
        // SANICAP has the kinds of Sanitize in the same order, from bit 0.
        let kinds = (SANITIZE as u16 & 0b111) << 1;
        let sanitizes = support.admin.contains(&AdminOpcode::SANITIZE);
        let sanitize = if sanitizes { DEALLOCATES | kinds | COMMAND } else { 0 };
        let log = OcpDeviceCapabilitiesLog {
            write_zeroes: io(NvmOpcode::WRITE_ZEROES, WRITE_ZEROES),
            sanitize: sanitize.into(),
            dataset_management: io(NvmOpcode::DATASET_MANAGEMENT, DATASET_MANAGEMENT),
            write_uncorrectable: io(NvmOpcode::WRITE_UNCORRECTABLE, WRITE_UNCORRECTABLE),
            fused: FUSED.into(),
            version: 1.into(),
            guid: DEVICE_CAPABILITIES_GUID,
            ..Default::default()
        };
        Ok(log.as_bytes().to_vec())
    },
};
