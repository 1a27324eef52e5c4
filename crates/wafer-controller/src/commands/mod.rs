//! Admin commands, one per file: parsing, checks and execution.
//!
//! To add one, copy a file and name it below. Its opcode, effects and capability bits are in the table of
//! `wafer_nvme`.

mod abort;
mod async_event_request;
mod directive_receive;
mod directive_send;
mod firmware_commit;
mod firmware_download;
mod format_nvm;
mod get_features;
mod get_lba_status;
mod get_log_page;
mod identify;
mod keep_alive;
mod lockdown;
mod namespace_attachment;
mod namespace_management;
mod sanitize;
mod self_test;
mod set_features;

use wafer_nvme::{AdminOpcode, Sqe, Status, location};

use super::{Controller, Failure, Kind, Reply};

/// An admin command whose fields have been checked.
trait AdminCommand<'a>: Sized {
    /// Checks a submission queue entry and the host's data.
    ///
    /// # Errors
    /// A field is invalid on any controller.
    fn parse(sqe: &'a Sqe, data: &'a [u8]) -> Result<Self, Failure>;

    /// Executes the command.
    ///
    /// # Errors
    /// The status that it completes with.
    fn execute(self, controller: &Controller) -> Result<Reply, Failure>;
}

/// Generates the dispatch and the list of supported commands.
macro_rules! commands {
    ($($opcode:ident => $command:ty,)*) => {
        /// Admin commands of I/O controllers.
        pub(crate) const SUPPORTED: &[AdminOpcode] = &[$(AdminOpcode::$opcode,)*];

        fn dispatch(controller: &Controller, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
            match AdminOpcode(sqe.opcode) {
                $(AdminOpcode::$opcode => <$command>::parse(sqe, data)?.execute(controller),)*
                _ => Err(Status::INVALID_OPCODE.into()),
            }
        }
    };
}

commands! {
    GET_LOG_PAGE => get_log_page::GetLogPage,
    IDENTIFY => identify::Identify,
    ABORT => abort::Abort,
    SET_FEATURES => set_features::SetFeatures,
    GET_FEATURES => get_features::GetFeatures,
    ASYNC_EVENT_REQUEST => async_event_request::AsyncEventRequest,
    NAMESPACE_MANAGEMENT => namespace_management::NamespaceManagement,
    FIRMWARE_COMMIT => firmware_commit::FirmwareCommit,
    FIRMWARE_DOWNLOAD => firmware_download::FirmwareDownload,
    SELF_TEST => self_test::SelfTest,
    NAMESPACE_ATTACHMENT => namespace_attachment::NamespaceAttachment,
    KEEP_ALIVE => keep_alive::KeepAlive,
    DIRECTIVE_SEND => directive_send::DirectiveSend,
    DIRECTIVE_RECEIVE => directive_receive::DirectiveReceive,
    LOCKDOWN => lockdown::Lockdown,
    FORMAT_NVM => format_nvm::FormatNvm,
    SANITIZE => sanitize::Sanitize,
    GET_LBA_STATUS => get_lba_status::GetLbaStatus,
}

/// Executes an admin command to its end. `data` is the host's data.
///
/// # Errors
/// The status that it completes with.
pub fn admin(controller: &Controller, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
    let mut reply = begin_admin(controller, sqe, data)?;
    if let Some(mut rest) = reply.rest.take() {
        while !rest.step(controller)? {}
    }
    Ok(reply)
}

/// Executes an admin command like [`admin`], but leaves lengthy work to [`Reply::rest`].
///
/// # Errors
/// The status that it completes with.
pub fn begin_admin(controller: &Controller, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
    let opcode = AdminOpcode(sqe.opcode);
    // Keep Alive is accepted in any state of the controller.
    if opcode != AdminOpcode::KEEP_ALIVE {
        controller.check_enabled()?;
        if sqe.fuse() != 0 {
            return Err(location!(flags).into());
        }
        let discovery = opcode.info().is_some_and(|row| row.discovery);
        if controller.kind == Kind::Discovery && !discovery {
            return Err(Status::INVALID_OPCODE.into());
        }
        controller.check_right(opcode)?;
        controller.check_lockdown(sqe)?;
        if matches!(opcode, AdminOpcode::FORMAT_NVM | AdminOpcode::GET_LBA_STATUS) {
            controller.check_path(sqe.nsid.get())?;
        }
        controller.check_reserved(opcode, sqe.nsid.get())?;
        controller.check_sanitize(sqe)?;
    }
    dispatch(controller, sqe, data)
}
