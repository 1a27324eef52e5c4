//! Unsent output of a connection.

use wafer_io::Pool;

/// Longest buffer that an idle connection keeps, bytes.
const KEPT: usize = 16 << 10;

/// Bytes for the host. Long buffers are passed from connection to connection, because fresh memory from the system
/// costs more than copying data into it.
#[derive(Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// Whether the last turn had long output, so that the next one may too.
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

    /// Returns the unsent bytes.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Empties the buffer, and returns a long one to the pool.
    pub(super) fn sent(&mut self, pool: &Pool) {
        self.long = self.bytes.len() > KEPT;
        self.bytes.clear();
        if self.bytes.capacity() > KEPT {
            pool.keep_buffer(std::mem::take(&mut self.bytes));
        }
    }
}
