//! Output of a connection that is not sent yet.

use wafer_io::Pool;

/// Longest buffer that a connection keeps while it has nothing to send, bytes.
const KEPT: usize = 16 << 10;

/// Bytes for the host. Long buffers go from connection to connection: memory that is fresh from the system costs more than
/// what is copied into it.
#[derive(Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// The last turn had long output, so the next one may.
    long: bool,
}

impl Output {
    /// Returns the buffer for the output of a turn.
    pub(super) fn begin(&mut self, pool: &Pool) -> &mut Vec<u8> {
        if self.long && self.bytes.is_empty() {
            self.bytes = pool.take_buffer();
        }
        &mut self.bytes
    }

    /// Returns what to send.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Empties the buffer, and gives a long one back.
    pub(super) fn sent(&mut self, pool: &Pool) {
        self.long = self.bytes.len() > KEPT;
        self.bytes.clear();
        if self.bytes.capacity() > KEPT {
            pool.keep_buffer(std::mem::take(&mut self.bytes));
        }
    }
}
