//! A drive whose media run in real time.

use std::slice::from_ref;
use std::sync::Arc;

use wafer_emulation::{Emulation, shape};
use wafer_interface::{Command, LBA_BYTES, NsId, Op};
use wafer_media::Request;
use wafer_record::TimeRecord;

use super::{Drive, Inner, Namespace, Transferred};

/// What the [emulation](Drive::emulation) knows of the host command that commands belong to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticket {
    /// 0 if no completion waits for them.
    pub number: u64,
    /// Whether their data stays on the drive instead of crossing the link, as that of a Copy does.
    pub stays: bool,
    /// Whether a write completes only when it is durable.
    pub durable: bool,
}

/// The origin of commands for the device.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Number of the [host](Drive::host).
    pub host: u16,
    /// The host command that they belong to.
    pub ticket: Ticket,
}

impl From<u16> for Origin {
    fn from(host: u16) -> Self {
        Origin { host, ticket: Ticket::default() }
    }
}

impl Drive {
    /// Starts the media, which are idle at first and run in real time from now on.
    ///
    /// # Errors
    /// The configuration of the device lacks times or they do not fit, or the system has no thread left.
    pub fn emulate(&self) -> Result<(), String> {
        let inner = self.lock();
        inner.config.check_clock()?;
        if let Some(timing) = &inner.config.timing {
            let started = Emulation::start(timing, shape(inner.device.geometry()));
            let _ = self.emulation.set(started.map_err(|(key, why)| format!("{key}: {why}"))?);
        }
        Ok(())
    }

    /// Returns the media in real time, if they were [started](Self::emulate).
    pub fn emulation(&self) -> Option<&Emulation> {
        self.emulation.get()
    }

    /// Starts the media work of a Flush of a namespace, or of all.
    pub fn emulate_flush(&self, ticket: u64, namespace: Option<NsId>) {
        if let Some(emulation) = self.emulation.get() {
            let flush = Command::flush(namespace.unwrap_or(NsId(0)));
            emulation.submit(&flush, |now| Request::of(&flush, ticket, now, 0, 0, false), &[]);
        }
    }

    /// Returns the latencies since the start, if the media run in real time.
    pub(crate) fn latencies(&self) -> Option<TimeRecord> {
        let handle = |namespace, placement| self.lock().device.handle(namespace, placement);
        self.emulation.get().map(|emulation| emulation.record(handle))
    }

    /// Executes commands. If the media run in real time, executes them one by one and starts the media work of each; that
    /// of a Flush is started by its caller, since a Flush of all namespaces is no command of the device.
    pub(crate) fn execute_timed(
        &self,
        inner: &mut Inner,
        namespaces: &[Option<Arc<Namespace>>],
        origin: Origin,
        commands: &[Command],
        mut transferred: Transferred,
        timestamp: (u64, u8),
    ) {
        let Some(emulation) = self.emulation.get().filter(|_| !commands.is_empty()) else {
            return inner.execute(namespaces, commands, transferred, timestamp);
        };
        let mut deallocated = 0;
        for (at, command) in commands.iter().enumerate() {
            inner.device.observer_mut().wants_work = true;
            inner.execute(
                namespaces,
                from_ref(command),
                std::mem::take(&mut transferred),
                timestamp,
            );
            // The ranges of a Dataset Management command are one request, with the work of all.
            let next = commands.get(at + 1).map(|next| next.op);
            if (command.op, next) == (Op::Deallocate, Some(Op::Deallocate)) {
                deallocated = command.blocks.saturating_add(deallocated);
                continue;
            }
            let blocks = command.blocks.saturating_add(std::mem::take(&mut deallocated));
            let command = &Command { blocks, ..*command };
            let geometry = inner.device.geometry();
            let first =
                geometry.namespaces.get(command.namespace.index()).map_or(0, |pages| pages.start);
            let page_shift = (geometry.page_bytes / LBA_BYTES).trailing_zeros();
            let Ticket { number, stays, durable } = origin.ticket;
            let request = |now| {
                let request = Request::of(command, number, now, first, page_shift, durable);
                Request { bytes: if stays { 0 } else { request.bytes }, ..request }
            };
            if command.op != Op::Flush {
                emulation.submit(command, request, &inner.device.observer().work);
            }
            inner.device.observer_mut().work.clear();
        }
    }
}
