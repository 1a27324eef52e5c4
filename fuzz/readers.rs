//! Fuzz targets of the file readers, shared by cargo-fuzz and the tests of `wafer-cli`.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::Path;

use wafer_interface::Op;
use wafer_record::capture::{CaptureEvent, CaptureReader};
use wafer_trace::{FORMATS, TraceReader};

/// A coarse signature of the outcome of an input.
pub(crate) type Signature = BTreeSet<(u8, u16, u16)>;

/// Reads a capture: any bytes yield records, one-line errors or a truncated end.
pub(crate) fn capture(input: &[u8]) -> Signature {
    let mut signature = Signature::new();
    let mut reader = match CaptureReader::new(input) {
        Ok(reader) => reader,
        Err(error) => {
            signature.insert((1, one_line(&error.to_string()), 0));
            return signature;
        }
    };
    let mut last = 0;
    // A few bytes can decompress to gigabytes of records.
    for record in reader.by_ref().take(100_000) {
        match record {
            Ok(record) => {
                assert!(record.time_ns >= last, "times decrease");
                last = record.time_ns;
                let kind = match record.event {
                    CaptureEvent::Command(command) => command.op as u16,
                    CaptureEvent::CreateNamespace { ref handles, .. } => 100 + handles.len() as u16,
                    CaptureEvent::DeleteNamespace(_) => 98,
                    _ => 99,
                };
                signature.insert((2, kind, 0));
            }
            Err(error) => {
                signature.insert((3, one_line(&error.to_string()), 0));
            }
        }
    }
    signature.insert((4, u16::from(reader.is_truncated()), 0));
    signature
}

/// Reads a trace: the first byte selects the format or detection; the rest yields requests and damaged records, or a
/// one-line error.
pub(crate) fn trace(input: &[u8]) -> Signature {
    /// Maximum length of a read or write, in bytes.
    const LARGEST_TRANSFER: u64 = 4 << 30;
    let mut signature = Signature::new();
    let Some((&choice, bytes)) = input.split_first() else { return signature };
    // Captures have their own target.
    let formats: Vec<_> = FORMATS.iter().filter(|format| format.name != "capture").collect();
    let choice = usize::from(choice) % (formats.len() + 1);
    let format = choice.checked_sub(1).map(|at| *formats[at]);
    let bytes = Box::new(Cursor::new(bytes.to_vec()));
    let mut reader = match TraceReader::from_bytes(Path::new("fuzz"), bytes, format) {
        Ok(reader) => reader,
        Err(error) => {
            signature.insert((1, one_line(&error.to_string()), choice as u16));
            return signature;
        }
    };
    let name = reader.format().name;
    let at = FORMATS.iter().position(|format| format.name == name).unwrap_or(0) as u16;
    let mut requests = Vec::new();
    // A few bytes can decompress to gigabytes of requests.
    for _ in 0..100 {
        let more = reader.read(&mut requests);
        for request in &requests {
            assert!(request.offset.checked_add(request.bytes).is_some(), "{request:?}");
            let moves = matches!(request.op, Op::Read | Op::Write);
            assert!(!moves || request.bytes <= LARGEST_TRANSFER, "{request:?}");
            let volumes = reader.names().volumes().len().max(1);
            assert!((request.volume as usize) < volumes, "{request:?}");
            signature.insert((2, at, request.op as u16));
        }
        requests.clear();
        if !more {
            break;
        }
    }
    for message in reader.messages() {
        signature.insert((3, one_line(&message), at));
    }
    assert!(reader.messages().len() as u64 <= reader.faults().count, "more messages than faults");
    signature
}

/// Parses the configuration of a device: any text yields a working device or a one-line error.
pub(crate) fn config(input: &[u8]) -> Signature {
    let mut signature = Signature::new();
    let Ok(text) = std::str::from_utf8(input) else { return signature };
    match wafer_lab::device_from_text("fuzz.toml", text, &[]) {
        Ok(device) => {
            let geometry = &device.geometry;
            assert!(geometry.logical_pages > 0 && geometry.ru_count > 0);
            // Creates and writes small devices.
            if geometry.logical_pages <= 1 << 16 && geometry.ru_count <= 1 << 12 {
                let made = wafer_device::Device::new(&device.config, 0);
                let mut device = made.expect("an accepted configuration makes a device");
                let pages = device.geometry().namespaces.first().map_or(0, |n| n.end - n.start);
                let blocks = (device.geometry().page_bytes / 512) as u32;
                for page in 0..pages.min(256) {
                    let lba = page * u64::from(blocks);
                    device.apply(&[wafer_interface::Command::write(
                        lba,
                        blocks,
                        wafer_interface::Placement::NONE,
                    )]);
                }
                device.check_invariants().expect("the invariants hold");
                signature.insert((1, 1, geometry.handles.min(64)));
            }
            signature.insert((1, 0, 0));
        }
        Err(error) => {
            signature.insert((2, one_line(&error.to_string()), 0));
        }
    }
    signature
}

/// Asserts that an error is one line, and returns a hash of its words that ignores numbers and short names.
fn one_line(error: &str) -> u16 {
    assert!(!error.is_empty() && !error.contains('\n'), "not one line: {error:?}");
    let words = error.split(|c: char| !c.is_ascii_lowercase()).filter(|word| word.len() > 3);
    let hash = words
        .take(8)
        .flat_map(str::bytes)
        .fold(5381, |hash: u16, byte| hash.wrapping_mul(33).wrapping_add(u16::from(byte)));
    // Coarse, because a message may contain words of the input.
    hash % 32
}
