//! Readers of files under arbitrary bytes. Shared by the targets of cargo-fuzz and by
//! `crates/wafer-cli/tests/fuzz.rs`.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::Path;

use wafer_workload::trace::capture::{CaptureEvent, CaptureReader};
use wafer_workload::trace::{FORMATS, Kind, TraceReader};

/// What an input brought about, coarsely.
pub(crate) type Signature = BTreeSet<(u8, u16, u16)>;

/// A capture: any bytes are records, errors of one line, or an end that is missing.
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
    // A few bytes can unpack to gigabytes of records.
    for record in reader.by_ref().take(100_000) {
        match record {
            Ok(record) => {
                assert!(record.time_ns >= last, "time goes on");
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

/// A trace: the first byte chooses a format, or none so that it is detected; the rest is read as requests and
/// damaged records, or refused in one line.
pub(crate) fn trace(input: &[u8]) -> Signature {
    /// No drive is asked for more in one write or read.
    const LARGEST_TRANSFER: u64 = 4 << 30;
    let mut signature = Signature::new();
    let Some((&choice, bytes)) = input.split_first() else { return signature };
    // Captures have a target of their own.
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
    // A few bytes can unpack to gigabytes of requests.
    for _ in 0..100 {
        let more = reader.read(&mut requests);
        for request in &requests {
            assert!(request.offset.checked_add(request.bytes).is_some(), "{request:?}");
            let moves = matches!(request.kind, Kind::Read | Kind::Write);
            assert!(!moves || request.bytes <= LARGEST_TRANSFER, "{request:?}");
            let volumes = reader.names().volumes().len().max(1);
            assert!((request.volume as usize) < volumes, "{request:?}");
            signature.insert((2, at, request.kind as u16));
        }
        requests.clear();
        if !more {
            break;
        }
    }
    for message in reader.messages() {
        signature.insert((3, one_line(&message), at));
    }
    assert!(reader.messages().len() as u64 <= reader.faults().count, "a message is of a fault");
    signature
}

/// The configuration of a device: any text is a device that works, or an error of one line.
pub(crate) fn config(input: &[u8]) -> Signature {
    let mut signature = Signature::new();
    let Ok(text) = std::str::from_utf8(input) else { return signature };
    match wafer_lab::device_from_text("fuzz.toml", text, &[]) {
        Ok(device) => {
            let geometry = &device.geometry;
            assert!(geometry.logical_pages > 0 && geometry.ru_count > 0);
            // Small ones are made and written once.
            if geometry.logical_pages <= 1 << 16 && geometry.ru_count <= 1 << 12 {
                let made = wafer_core::Device::new(&device.config, 0);
                let mut device = made.expect("a configuration that was accepted");
                let pages = device.geometry().namespaces.first().map_or(0, |n| n.end - n.start);
                let blocks = (device.geometry().page_bytes / 512) as u32;
                for page in 0..pages.min(256) {
                    let lba = page * u64::from(blocks);
                    device.apply(&[wafer_core::Command::write(
                        lba,
                        blocks,
                        wafer_core::Placement::NONE,
                    )]);
                }
                device.check_invariants().expect("the device is whole");
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

/// An error is one line; answers something of its words that numbers and names do not change.
fn one_line(error: &str) -> u16 {
    assert!(!error.is_empty() && !error.contains('\n'), "not one line: {error:?}");
    let words = error.split(|c: char| !c.is_ascii_lowercase()).filter(|word| word.len() > 3);
    let hash = words
        .take(8)
        .flat_map(str::bytes)
        .fold(5381, |hash: u16, byte| hash.wrapping_mul(33).wrapping_add(u16::from(byte)));
    // Coarse: a message may hold a word of the input.
    hash % 32
}
