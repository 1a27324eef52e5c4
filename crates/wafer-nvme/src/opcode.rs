//! Commands (Base 2.1, figures "Opcodes for Admin Commands" and "Opcodes for I/O Commands").

use NamespaceUse::{Depends, One, OneOrAll};

use crate::*;

const NONE: CommandEffects = CommandEffects::new();
/// Changes contents of logical blocks.
const BLOCKS: CommandEffects = NONE.with_lbcc(true);
/// Changes the inventory of namespaces.
const INVENTORY: CommandEffects = NONE.with_nic(true);

/// The UUID Index selects the vendor or specification that defines the log page or feature.
const UUID: CommandEffects = NONE.with_uss(true);

/// The data of Reservation Register and Reservation Acquire, and of Reservation Release.
const KEYS: DataLength =
    DataLength::Entries { bytes: size_of::<ReservationKeys>() as u64, count: |_| 1 };
const KEY: DataLength = DataLength::Entries { bytes: size_of::<U64>() as u64, count: |_| 1 };

table! {
    /// Opcode of an admin command.
    AdminOpcode, ADMIN_COMMANDS: [CommandInfo] {
        DELETE_IO_SQ = 0x00, "Delete I/O Submission Queue".clause("Base 2.1, 5.2.4");
        CREATE_IO_SQ = 0x01, "Create I/O Submission Queue".clause("Base 2.1, 5.2.2");
        GET_LOG_PAGE = 0x02, "Get Log Page".clause("Base 2.1, 5.1.12").namespace(Depends).discovery()
            .effects(UUID);
        DELETE_IO_CQ = 0x04, "Delete I/O Completion Queue".clause("Base 2.1, 5.2.3");
        CREATE_IO_CQ = 0x05, "Create I/O Completion Queue".clause("Base 2.1, 5.2.1");
        IDENTIFY = 0x06, "Identify".clause("Base 2.1, 5.1.13").namespace(Depends).discovery();
        ABORT = 0x08, "Abort".clause("Base 2.1, 5.1.1");
        SET_FEATURES = 0x09, "Set Features".clause("Base 2.1, 5.1.25").namespace(Depends).discovery()
            .effects(UUID).oncs(Oncs::new().with_features_save(true));
        GET_FEATURES = 0x0a, "Get Features".clause("Base 2.1, 5.1.11").namespace(Depends).discovery()
            .effects(UUID);
        ASYNC_EVENT_REQUEST = 0x0c, "Asynchronous Event Request".clause("Base 2.1, 5.1.2").discovery();
        NAMESPACE_MANAGEMENT = 0x0d, "Namespace Management".clause("Base 2.1, 5.1.21").namespace(Depends)
            .effects(INVENTORY).oacs(Oacs::new().with_namespace_management(true));
        FIRMWARE_COMMIT = 0x10, "Firmware Commit".clause("Base 2.1, 5.1.8").effects(NONE.with_ccc(true))
            .oacs(Oacs::new().with_firmware(true));
        FIRMWARE_DOWNLOAD = 0x11, "Firmware Image Download".clause("Base 2.1, 5.1.9")
            .oacs(Oacs::new().with_firmware(true));
        SELF_TEST = 0x14, "Device Self-test".clause("Base 2.1, 5.1.5").namespace(OneOrAll)
            .oacs(Oacs::new().with_self_test(true));
        NAMESPACE_ATTACHMENT = 0x15, "Namespace Attachment".clause("Base 2.1, 5.1.20").namespace(One)
            .effects(INVENTORY).oacs(Oacs::new().with_namespace_management(true));
        KEEP_ALIVE = 0x18, "Keep Alive".clause("Base 2.1, 5.1.14").discovery();
        DIRECTIVE_SEND = 0x19, "Directive Send".clause("Base 2.1, 5.1.7").namespace(OneOrAll)
            .oacs(Oacs::new().with_directives(true));
        DIRECTIVE_RECEIVE = 0x1a, "Directive Receive".clause("Base 2.1, 5.1.6").namespace(OneOrAll)
            .oacs(Oacs::new().with_directives(true));
        VIRTUALIZATION = 0x1c, "Virtualization Management".clause("Base 2.1, 5.2.6")
            .oacs(Oacs::new().with_virtualization(true));
        MI_SEND = 0x1d, "NVMe-MI Send".clause("Base 2.1, 5.1.19").oacs(Oacs::new().with_mi(true));
        MI_RECEIVE = 0x1e, "NVMe-MI Receive".clause("Base 2.1, 5.1.18").oacs(Oacs::new().with_mi(true));
        CAPACITY = 0x20, "Capacity Management".clause("Base 2.1, 5.1.3");
        LOCKDOWN = 0x24, "Lockdown".clause("Base 2.1, 5.1.15").oacs(Oacs::new().with_lockdown(true));
        DOORBELL_BUFFER = 0x7c, "Doorbell Buffer Config".clause("Base 2.1, 5.2.5")
            .oacs(Oacs::new().with_doorbell_buffer(true));
        FABRICS = 0x7f, "Fabrics Commands".clause("Base 2.1, 6").discovery();
        FORMAT_NVM = 0x80, "Format NVM".clause("Base 2.1, 5.1.10").namespace(OneOrAll)
            .effects(BLOCKS.with_ncc(true).with_cse(1)).oacs(Oacs::new().with_format(true));
        SECURITY_SEND = 0x81, "Security Send".clause("Base 2.1, 5.1.24")
            .oacs(Oacs::new().with_security(true));
        SECURITY_RECEIVE = 0x82, "Security Receive".clause("Base 2.1, 5.1.23")
            .oacs(Oacs::new().with_security(true));
        SANITIZE = 0x84, "Sanitize".clause("Base 2.1, 5.1.22").effects(BLOCKS);
        GET_LBA_STATUS = 0x86, "Get LBA Status".clause("NVM 1.1, chapter 4").namespace(One)
            .oacs(Oacs::new().with_lba_status(true));
    }
}

table! {
    /// Opcode of an I/O command of the NVM command set.
    NvmOpcode, IO_COMMANDS: [CommandInfo] {
        FLUSH = 0x00, "Flush".clause("Base 2.1, 7.2").namespace(OneOrAll);
        WRITE = 0x01, "Write".clause("NVM 1.1, chapter 3").namespace(One).effects(BLOCKS)
            .data(DataLength::Blocks);
        READ = 0x02, "Read".clause("NVM 1.1, chapter 3").namespace(One).data(DataLength::Blocks);
        WRITE_UNCORRECTABLE = 0x04, "Write Uncorrectable".clause("NVM 1.1, chapter 3").namespace(One)
            .effects(BLOCKS).oncs(Oncs::new().with_write_uncorrectable(true));
        COMPARE = 0x05, "Compare".clause("NVM 1.1, chapter 3").namespace(One).data(DataLength::Blocks)
            .oncs(Oncs::new().with_compare(true));
        WRITE_ZEROES = 0x08, "Write Zeroes".clause("NVM 1.1, chapter 3").namespace(One).effects(BLOCKS)
            .oncs(Oncs::new().with_write_zeroes(true));
        DATASET_MANAGEMENT = 0x09, "Dataset Management".clause("NVM 1.1, chapter 3").namespace(One)
            .effects(BLOCKS).oncs(Oncs::new().with_dsm(true)).data(DataLength::Entries {
                bytes: size_of::<DsmRange>() as u64,
                count: |sqe| DsmCdw10::of(sqe).nr_z() as u64 + 1,
            });
        VERIFY = 0x0c, "Verify".clause("NVM 1.1, chapter 3").namespace(One)
            .oncs(Oncs::new().with_verify(true));
        RESERVATION_REGISTER = 0x0d, "Reservation Register".clause("Base 2.1, 7.6").namespace(One)
            .oncs(Oncs::new().with_reservations(true)).data(KEYS);
        RESERVATION_REPORT = 0x0e, "Reservation Report".clause("Base 2.1, 7.8").namespace(One)
            .oncs(Oncs::new().with_reservations(true));
        RESERVATION_ACQUIRE = 0x11, "Reservation Acquire".clause("Base 2.1, 7.5").namespace(One)
            .oncs(Oncs::new().with_reservations(true)).data(KEYS);
        IO_MANAGEMENT_RECEIVE = 0x12, "I/O Management Receive".clause("Base 2.1, 7.3").namespace(One);
        RESERVATION_RELEASE = 0x15, "Reservation Release".clause("Base 2.1, 7.7").namespace(One)
            .oncs(Oncs::new().with_reservations(true)).data(KEY);
        CANCEL = 0x18, "Cancel".clause("Base 2.1, 7.1").namespace(OneOrAll);
        COPY = 0x19, "Copy".clause("NVM 1.1, chapter 3").namespace(One).effects(BLOCKS)
            .oncs(Oncs::new().with_copy(true)).data(DataLength::Entries {
                bytes: 1,
                count: |sqe| CopyCdw12::of(sqe).entry_bytes() * (CopyCdw12::of(sqe).nr_z() as u64 + 1),
            });
        IO_MANAGEMENT_SEND = 0x1d, "I/O Management Send".clause("Base 2.1, 7.4").namespace(One)
            .data(DataLength::Entries {
                bytes: size_of::<U16>() as u64,
                count: |sqe| match IoManagementCdw10::of(sqe) {
                    cdw10 if cdw10.mo() == ManagementOperation::NONE.0 => 0,
                    cdw10 => cdw10.mos() as u64 + 1,
                },
            });
        FABRICS = 0x7f, "Fabrics Commands".clause("Base 2.1, 6");
    }
}

table! {
    /// Type of a fabrics command.
    FabricsType, FABRICS_COMMANDS: [CommandInfo] {
        PROPERTY_SET = 0x00, "Property Set".clause("Base 2.1, 6.6").discovery();
        CONNECT = 0x01, "Connect".clause("Base 2.1, 6.3").discovery();
        PROPERTY_GET = 0x04, "Property Get".clause("Base 2.1, 6.5").discovery();
        AUTHENTICATION_SEND = 0x05, "Authentication Send".clause("Base 2.1, 6.2").discovery();
        AUTHENTICATION_RECEIVE = 0x06, "Authentication Receive".clause("Base 2.1, 6.1").discovery();
        DISCONNECT = 0x08, "Disconnect".clause("Base 2.1, 6.4").ofcs(1);
    }
}

/// Direction of a command's data: the lowest bits of its opcode (Base 2.1, "Opcode" field).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataTransfer {
    /// No data.
    None,
    /// From host to controller.
    HostToController,
    /// From controller to host.
    ControllerToHost,
    /// Both ways; reserved.
    Bidirectional,
}

impl DataTransfer {
    /// Returns the direction encoded by an opcode (or the type of a fabrics command).
    pub const fn of(opcode: u8) -> Self {
        match opcode & 3 {
            0 => DataTransfer::None,
            1 => DataTransfer::HostToController,
            2 => DataTransfer::ControllerToHost,
            _ => DataTransfer::Bidirectional,
        }
    }
}
