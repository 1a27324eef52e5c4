//! No data: for drives of terabytes whose write amplification is the question.

use std::io;
use std::sync::Arc;

use super::{Backend, Store};

/// Drops what is written and reads zeroes.
#[derive(Clone, Copy, Debug)]
pub struct None;

impl Backend for None {
    fn store(&self, _base: u64, _size: u64) -> io::Result<Arc<dyn Store>> {
        Ok(Arc::new(None))
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn may_block(&self) -> bool {
        false
    }
}

impl Store for None {
    fn read(&self, _offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.fill(0);
        Ok(())
    }

    fn write(&self, _offset: u64, _data: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn deallocate(&self, _offset: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }
}
