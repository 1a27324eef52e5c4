//! Status codes (Base 2.1, "Status Field"; NVM Command Set 1.1; fabrics status values).

use crate::open_enum;

open_enum! {
    /// Status Code Type in bits 10:8, Status Code in bits 7:0.
    Status(u16) {
        /// Successful Completion.
        SUCCESS = 0x000,
        /// Invalid Command Opcode.
        INVALID_OPCODE = 0x001,
        /// Invalid Field in Command.
        INVALID_FIELD = 0x002,
        /// Command ID Conflict.
        ID_CONFLICT = 0x003,
        /// Data Transfer Error.
        DATA_TRANSFER_ERROR = 0x004,
        /// Internal Error.
        INTERNAL_ERROR = 0x006,
        /// Command Abort Requested.
        ABORT_REQUESTED = 0x007,
        /// Command Aborted due to SQ Deletion.
        ABORTED_SQ_DELETION = 0x008,
        /// Command Aborted due to Failed Fused Command.
        FAILED_FUSED = 0x009,
        /// Command Aborted due to Missing Fused Command.
        MISSING_FUSED = 0x00a,
        /// Invalid Namespace or Format.
        INVALID_NAMESPACE = 0x00b,
        /// Command Sequence Error.
        SEQUENCE_ERROR = 0x00c,
        /// Invalid SGL Segment Descriptor.
        INVALID_SGL_SEGMENT = 0x00d,
        /// Invalid Number of SGL Descriptors.
        INVALID_SGL_COUNT = 0x00e,
        /// Data SGL Length Invalid.
        INVALID_SGL_LENGTH = 0x00f,
        /// SGL Descriptor Type Invalid.
        INVALID_SGL_TYPE = 0x011,
        /// Operation Denied.
        OPERATION_DENIED = 0x015,
        /// SGL Offset Invalid.
        INVALID_SGL_OFFSET = 0x016,
        /// Host Identifier Inconsistent Format.
        HOST_ID_INCONSISTENT = 0x018,
        /// Keep Alive Timer Expired.
        KEEP_ALIVE_EXPIRED = 0x019,
        /// Keep Alive Timeout Invalid.
        KEEP_ALIVE_INVALID = 0x01a,
        /// Sanitize Failed.
        SANITIZE_FAILED = 0x01c,
        /// Sanitize In Progress.
        SANITIZE_IN_PROGRESS = 0x01d,
        /// Namespace is Write Protected.
        NAMESPACE_WRITE_PROTECTED = 0x020,
        /// Command Interrupted.
        COMMAND_INTERRUPTED = 0x021,
        /// Transient Transport Error.
        TRANSIENT_TRANSPORT_ERROR = 0x022,
        /// Command Prohibited by Command and Feature Lockdown.
        PROHIBITED_BY_LOCKDOWN = 0x023,
        /// Invalid Placement Handle List.
        INVALID_PLACEMENT_HANDLE_LIST = 0x02a,
        /// FDP Disabled.
        FDP_DISABLED = 0x029,
        /// Host Identifier Not Initialized.
        HOST_ID_NOT_INITIALIZED = 0x027,
        /// LBA Out of Range.
        LBA_OUT_OF_RANGE = 0x080,
        /// Capacity Exceeded.
        CAPACITY_EXCEEDED = 0x081,
        /// Namespace Not Ready.
        NAMESPACE_NOT_READY = 0x082,
        /// Reservation Conflict.
        RESERVATION_CONFLICT = 0x083,
        /// Format in Progress.
        FORMAT_IN_PROGRESS = 0x084,
        /// Invalid Format (command specific).
        INVALID_FORMAT = 0x10a,
        /// Asynchronous Event Request Limit Exceeded.
        ASYNC_EVENT_LIMIT = 0x105,
        /// Invalid Firmware Slot.
        INVALID_FIRMWARE_SLOT = 0x106,
        /// Invalid Firmware Image.
        INVALID_FIRMWARE_IMAGE = 0x107,
        /// Firmware Activation Requires Controller Level Reset.
        FIRMWARE_NEEDS_RESET = 0x111,
        /// Invalid Log Page.
        INVALID_LOG_PAGE = 0x109,
        /// Feature Identifier Not Saveable.
        FEATURE_NOT_SAVEABLE = 0x10d,
        /// Feature Not Changeable.
        FEATURE_NOT_CHANGEABLE = 0x10e,
        /// Feature Not Namespace Specific.
        FEATURE_NOT_NAMESPACE_SPECIFIC = 0x10f,
        /// Overlapping Range.
        OVERLAPPING_RANGE = 0x114,
        /// Namespace Insufficient Capacity.
        INSUFFICIENT_CAPACITY = 0x115,
        /// Namespace Identifier Unavailable.
        NAMESPACE_ID_UNAVAILABLE = 0x116,
        /// Namespace Already Attached.
        ALREADY_ATTACHED = 0x118,
        /// Device Self-test In Progress.
        SELF_TEST_IN_PROGRESS = 0x11d,
        /// Namespace Is Private.
        NAMESPACE_IS_PRIVATE = 0x119,
        /// Namespace Not Attached.
        NOT_ATTACHED = 0x11a,
        /// Thin Provisioning Not Supported.
        THIN_PROVISIONING_NOT_SUPPORTED = 0x11b,
        /// Controller List Invalid.
        INVALID_CONTROLLER_LIST = 0x11c,
        /// ANA Group Identifier Invalid.
        ANA_GROUP_INVALID = 0x124,
        /// Prohibition of Command Execution Not Supported.
        PROHIBITION_NOT_SUPPORTED = 0x128,
        /// I/O Command Set Not Supported.
        COMMAND_SET_NOT_SUPPORTED = 0x129,
        /// Invalid I/O command set combination.
        IO_COMMAND_SET_COMBINATION_REJECTED = 0x12b,
        /// Stream Resource Allocation Failed.
        STREAM_RESOURCE_ALLOCATION_FAILED = 0x17f,
        /// Conflicting Attributes.
        CONFLICTING_ATTRIBUTES = 0x180,
        /// Attempted Write to Read Only Range.
        READ_ONLY_RANGE = 0x182,
        /// Command Size Limit Exceeded (copy).
        COMMAND_SIZE_LIMIT = 0x183,
        /// Invalid Queue Type (Disconnect).
        INVALID_QUEUE_TYPE = 0x185,
        /// Authentication Required.
        AUTHENTICATION_REQUIRED = 0x191,
        /// Compare Failure.
        COMPARE_FAILURE = 0x285,
        /// Write Fault.
        WRITE_FAULT = 0x280,
        /// Unrecovered Read Error.
        UNRECOVERED_READ_ERROR = 0x281,
        /// Deallocated or Unwritten Logical Block.
        DEALLOCATED_BLOCK = 0x287,
        /// Asymmetric Access Persistent Loss.
        ANA_PERSISTENT_LOSS = 0x301,
        /// Asymmetric Access Inaccessible.
        ANA_INACCESSIBLE = 0x302,
        /// Asymmetric Access Transition.
        ANA_TRANSITION = 0x303,
    }
}

/// Codes of the Connect command; for other commands the same numbers have other meanings.
impl Status {
    /// Connect Incompatible Format.
    pub const CONNECT_INCOMPATIBLE_FORMAT: Status = Status(0x180);
    /// Connect Controller Busy.
    pub const CONNECT_CONTROLLER_BUSY: Status = Status(0x181);
    /// Connect Invalid Parameters.
    pub const CONNECT_INVALID_PARAMETERS: Status = Status(0x182);
    /// Connect Restart Discovery.
    pub const CONNECT_RESTART_DISCOVERY: Status = Status(0x183);
    /// Connect Invalid Host.
    pub const CONNECT_INVALID_HOST: Status = Status(0x184);
}

/// Codes of the Copy command; for other commands the same numbers have other meanings.
impl Status {
    /// Incompatible Namespace or Format.
    pub const INCOMPATIBLE_NAMESPACE: Status = Status(0x185);
    /// Fast Copy Not Possible.
    pub const FAST_COPY_NOT_POSSIBLE: Status = Status(0x186);
}

impl Status {
    /// Returns whether the command succeeded.
    pub const fn is_success(self) -> bool {
        self.0 == 0
    }

    /// Returns the Status Code Type.
    pub const fn code_type(self) -> u8 {
        (self.0 >> 8) as u8 & 7
    }

    /// Returns the Status Code.
    pub const fn code(self) -> u8 {
        self.0 as u8
    }
}
