//! Opcodes (Base 2.1, figures "Opcodes for Admin Commands" and "Opcodes for I/O Commands").

use crate::open_enum;

open_enum! {
    /// Opcode of an admin command.
    AdminOpcode(u8) {
        /// Delete I/O Submission Queue; not used over fabrics.
        DELETE_IO_SQ = 0x00,
        /// Create I/O Submission Queue; not used over fabrics.
        CREATE_IO_SQ = 0x01,
        /// Get Log Page.
        GET_LOG_PAGE = 0x02,
        /// Delete I/O Completion Queue; not used over fabrics.
        DELETE_IO_CQ = 0x04,
        /// Create I/O Completion Queue; not used over fabrics.
        CREATE_IO_CQ = 0x05,
        /// Identify.
        IDENTIFY = 0x06,
        /// Abort.
        ABORT = 0x08,
        /// Set Features.
        SET_FEATURES = 0x09,
        /// Get Features.
        GET_FEATURES = 0x0a,
        /// Asynchronous Event Request.
        ASYNC_EVENT_REQUEST = 0x0c,
        /// Namespace Management.
        NAMESPACE_MANAGEMENT = 0x0d,
        /// Firmware Commit.
        FIRMWARE_COMMIT = 0x10,
        /// Firmware Image Download.
        FIRMWARE_DOWNLOAD = 0x11,
        /// Namespace Attachment.
        NAMESPACE_ATTACHMENT = 0x15,
        /// Keep Alive.
        KEEP_ALIVE = 0x18,
        /// Directive Send.
        DIRECTIVE_SEND = 0x19,
        /// Directive Receive.
        DIRECTIVE_RECEIVE = 0x1a,
        /// Fabrics commands; the type is in byte 4.
        FABRICS = 0x7f,
        /// Format NVM.
        FORMAT_NVM = 0x80,
    }
}

open_enum! {
    /// Opcode of an I/O command of the NVM command set.
    NvmOpcode(u8) {
        /// Flush.
        FLUSH = 0x00,
        /// Write.
        WRITE = 0x01,
        /// Read.
        READ = 0x02,
        /// Write Uncorrectable.
        WRITE_UNCORRECTABLE = 0x04,
        /// Compare.
        COMPARE = 0x05,
        /// Write Zeroes.
        WRITE_ZEROES = 0x08,
        /// Dataset Management.
        DATASET_MANAGEMENT = 0x09,
        /// Verify.
        VERIFY = 0x0c,
        /// I/O Management Receive.
        IO_MANAGEMENT_RECEIVE = 0x12,
        /// Copy.
        COPY = 0x19,
        /// I/O Management Send.
        IO_MANAGEMENT_SEND = 0x1d,
        /// Fabrics commands.
        FABRICS = 0x7f,
    }
}

open_enum! {
    /// Type of a fabrics command.
    FabricsType(u8) {
        /// Property Set.
        PROPERTY_SET = 0x00,
        /// Connect.
        CONNECT = 0x01,
        /// Property Get.
        PROPERTY_GET = 0x04,
        /// Authentication Send.
        AUTHENTICATION_SEND = 0x05,
        /// Authentication Receive.
        AUTHENTICATION_RECEIVE = 0x06,
        /// Disconnect.
        DISCONNECT = 0x08,
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
    /// The direction that an opcode (or the type of a fabrics command) says.
    pub const fn of(opcode: u8) -> Self {
        match opcode & 3 {
            0 => DataTransfer::None,
            1 => DataTransfer::HostToController,
            2 => DataTransfer::ControllerToHost,
            _ => DataTransfer::Bidirectional,
        }
    }
}
