//! I/O commands of the NVM command set: the table of handlers.
//!
//! To add a command, write a handler and add it to [`COMMANDS`]. Its opcode, effects and capability bits are
//! in the table of `wafer_nvme`.

mod commands;
mod management;
mod queue;

pub use queue::IoQueue;
use wafer_nvme::{NvmOpcode, Sqe, Status, location};

use super::reply::Failure;
use super::subsystem::check_nsid;

/// Checks and executes a command and returns dword 0 of the completion. The slice is the data that the host
/// sent, the vector receives the data for the host.
type Handler = fn(&mut IoQueue, &Sqe, &[u8], &mut Vec<u8>) -> Result<u32, Failure>;

/// Supported I/O commands.
pub(crate) const COMMANDS: &[(NvmOpcode, Handler)] = &[
    (NvmOpcode::FLUSH, commands::flush),
    (NvmOpcode::WRITE, commands::write),
    (NvmOpcode::READ, commands::read),
    (NvmOpcode::COMPARE, commands::compare),
    (NvmOpcode::WRITE_ZEROES, commands::write_zeroes),
    (NvmOpcode::DATASET_MANAGEMENT, commands::dataset_management),
    (NvmOpcode::VERIFY, commands::verify),
    (NvmOpcode::IO_MANAGEMENT_RECEIVE, management::receive),
    (NvmOpcode::COPY, commands::copy),
    (NvmOpcode::IO_MANAGEMENT_SEND, management::send),
];

impl IoQueue {
    /// Executes a command and returns dword 0 of the completion. `data`, which the host sent, has at least
    /// [`Self::data_length`] bytes. Data for the host is appended to `out`.
    ///
    /// # Errors
    /// The status that the command completes with. The bytes appended to `out` are then undefined.
    pub fn execute(&mut self, sqe: &Sqe, data: &[u8], out: &mut Vec<u8>) -> Result<u32, Failure> {
        if sqe.fuse() != 0 {
            return Err(location!(flags).into());
        }
        let opcode = NvmOpcode(sqe.opcode);
        let handler = COMMANDS.iter().find(|(supported, _)| *supported == opcode);
        let ((_, handler), row) = handler.zip(opcode.info()).ok_or(Status::INVALID_OPCODE)?;
        check_nsid(row.namespace, sqe.nsid.get())?;
        handler(self, sqe, data, out)
    }
}
