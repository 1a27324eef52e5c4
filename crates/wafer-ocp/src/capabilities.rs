//! Device Capabilities of OCP: what the command handlers support. The bits that claim full compliance stay clear,
//! because that would include requirements on PCI Express.

use wafer_nvme::{AdminOpcode, DEVICE_CAPABILITIES_GUID, NvmOpcode, OcpDeviceCapabilitiesLog};

use crate::POWER;

/// The command is supported.
const COMMAND: u16 = 1;
/// Write Zeroes: the command, Deallocate, Force Unit Access.
const WRITE_ZEROES: u16 = 1 << 2 | 1 << 1 | COMMAND;
/// Dataset Management: the command, Deallocate.
const DATASET_MANAGEMENT: u16 = 1 << 1 | COMMAND;
/// Write Uncorrectable: the command, single blocks, as many blocks as the field holds.
const WRITE_UNCORRECTABLE: u16 = 1 << 2 | 1 << 1 | COMMAND;
/// Sanitize: deallocates what it erases.
const DEALLOCATES: u16 = 1 << 4;

/// Valid DSSD Power State, for NVMe power state 0.
const VALID_POWER_STATE: u8 = 1 << 7;

/// Returns the log of a drive with these commands, SANICAP and FUSES.
pub fn log(
    admin: &[AdminOpcode],
    io: &[NvmOpcode],
    sanicap: u32,
    fuses: u16,
) -> OcpDeviceCapabilitiesLog {
    let supported =
        |opcode: NvmOpcode, bits: u16| if io.contains(&opcode) { bits } else { 0 }.into();
    // SANICAP has the kinds of Sanitize in the same order, from bit 0.
    let kinds = (sanicap as u16 & 0b111) << 1;
    let sanitizes = admin.contains(&AdminOpcode::SANITIZE);
    let mut log = OcpDeviceCapabilitiesLog {
        write_zeroes: supported(NvmOpcode::WRITE_ZEROES, WRITE_ZEROES),
        sanitize: if sanitizes { DEALLOCATES | kinds | COMMAND } else { 0 }.into(),
        dataset_management: supported(NvmOpcode::DATASET_MANAGEMENT, DATASET_MANAGEMENT),
        write_uncorrectable: supported(NvmOpcode::WRITE_UNCORRECTABLE, WRITE_UNCORRECTABLE),
        fused: fuses.into(),
        least_power_state: u16::from(POWER).into(),
        version: 1.into(),
        guid: DEVICE_CAPABILITIES_GUID,
        ..Default::default()
    };
    log.power_states[usize::from(POWER)] = VALID_POWER_STATE;
    log
}
