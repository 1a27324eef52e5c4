//! Bytes of a trace file: plain, gzip, zstd or xz, distinguished by their first bytes, and the frames
//! of a capture.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use liblzma::stream::{CONCATENATED, Stream};
use wafer_record::capture;

use super::per_cpu;

/// Bytes inspected to detect the format of a file.
pub(super) const HEAD: usize = 256 << 10;

/// The uncompressed bytes of a trace.
pub(super) struct Input {
    pub(super) bytes: Box<dyn Read + Send>,
    /// The header, if the file is a capture; `bytes` then has only its records.
    pub(super) capture: Option<Vec<u8>>,
}

/// Maximum bytes of a capture's header.
const LONGEST_HEADER: u32 = 16 << 20;
/// Memory limit for unpacking xz, in bytes: four times what files of `xz -9` need.
const XZ_MEMORY: u64 = 256 << 20;
/// Maximum depth of nested compression.
const DEPTH: usize = 3;
/// Maximum unpacked bytes per packed byte, once more than [`FREE`] were unpacked. Text of traces reaches up to 50;
/// gzip allows 1,032, and zstd and xz more than ten thousand.
pub(super) const RATIO: u64 = 200;
const FREE: u64 = 1 << 30;

/// Counts the bytes read from a file.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Unpacked bytes. Reading fails with [`io::ErrorKind::FileTooLarge`] when they outnumber the packed ones out
/// of all proportion: otherwise, a few megabytes could keep a reader busy for hours.
struct Proportionate<R> {
    inner: R,
    unpacked: u64,
    packed: Arc<AtomicU64>,
    free: u64,
}

impl<R: Read> Read for Proportionate<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.packed.load(Ordering::Relaxed).saturating_mul(RATIO);
        if self.unpacked > self.free.max(most) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let read = self.inner.read(buffer)?;
        self.unpacked += read as u64;
        Ok(read)
    }
}

pub(super) fn open(path: &Path) -> io::Result<Input> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder"));
    }
    if let Some(files) = per_cpu::files(path) {
        return Ok(Input { bytes: Box::new(per_cpu::Joined::open(&files)?), capture: None });
    }
    unpack(Box::new(file))
}

/// Removes compression and the frame of a capture.
pub(super) fn unpack(bytes: Box<dyn Read + Send>) -> io::Result<Input> {
    let packed = Arc::new(AtomicU64::new(0));
    let counted = Counted { inner: bytes, count: Arc::clone(&packed) };
    let Input { bytes: inner, capture } = layers(Box::new(counted))?;
    let bytes = Box::new(Proportionate { inner, unpacked: 0, packed, free: FREE });
    Ok(Input { bytes, capture })
}

fn layers(mut bytes: Box<dyn Read + Send>) -> io::Result<Input> {
    for _ in 0..DEPTH {
        let mut head = Vec::with_capacity(16);
        // Damage of an inner layer shows when it is read, not here.
        bytes.by_ref().take(16).read_to_end(&mut head)?;
        let all: Box<dyn Read + Send> = Box::new(Cursor::new(head.clone()).chain(bytes));
        bytes = match head.as_slice() {
            [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(all)),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::new(all)?),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
                let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
                Box::new(liblzma::read::XzDecoder::new_stream(all, stream))
            }
            head if head.starts_with(&capture::MAGIC) => return capture_frames(all),
            _ => return Ok(Input { bytes: all, capture: None }),
        };
    }
    Ok(Input { bytes, capture: None })
}

/// Reads the header and opens the records of a capture (docs/reference/capture-format.md).
fn capture_frames(mut bytes: Box<dyn Read + Send>) -> io::Result<Input> {
    let invalid = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    let mut fixed = [0; 16];
    bytes.read_exact(&mut fixed)?;
    let version = u16::from_le_bytes([fixed[8], fixed[9]]);
    if version != capture::VERSION {
        return Err(invalid(format!(
            "capture version {version}; version {} is read",
            capture::VERSION
        )));
    }
    let length = u32::from_le_bytes([fixed[12], fixed[13], fixed[14], fixed[15]]);
    if length > LONGEST_HEADER {
        return Err(invalid(format!("a capture with a header of {length} bytes")));
    }
    let mut header = Vec::new();
    bytes.by_ref().take(u64::from(length)).read_to_end(&mut header)?;
    if header.len() as u64 != u64::from(length) {
        return Err(invalid("a capture that ends within its header".to_owned()));
    }
    let mut first = Vec::new();
    bytes.by_ref().take(1).read_to_end(&mut first)?;
    // A capture without commands has no frame.
    let records: Box<dyn Read + Send> = match first.is_empty() {
        true => Box::new(io::empty()),
        false => Box::new(zstd::Decoder::new(Cursor::new(first).chain(bytes))?),
    };
    Ok(Input { bytes: records, capture: Some(header) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_bytes_are_in_proportion_to_packed_ones() {
        let packed = Arc::new(AtomicU64::new(10));
        let (inner, free) = (io::repeat(0), 1000);
        let mut bytes = Proportionate { inner, unpacked: 0, packed: Arc::clone(&packed), free };
        let mut all = Vec::new();
        let error = bytes.read_to_end(&mut all).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(all.len() as u64 > 10 * RATIO && all.len() < 100_000, "{}", all.len());
        // More packed bytes allow reading to continue.
        packed.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(bytes.read(&mut [0; 64]).unwrap(), 64);
    }
}
