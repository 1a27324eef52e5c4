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
    match wafer_config::device_from_text("fuzz.toml", text, &[]) {
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

/// Returns the text of an input that names no device of the machine, whose reading might not end.
fn text(input: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(input).ok()?;
    let outside = ["/dev", "/proc", "include", "dp_scheme"];
    (!outside.iter().any(|word| text.contains(word))).then_some(text)
}

/// Reads a fio job file: any text yields jobs on a device or a one-line error.
pub(crate) fn job(input: &[u8]) -> Signature {
    use wafer_fio_file::{JobFile, Target};
    let Some(text) = text(input) else { return Signature::new() };
    let target = Target {
        namespace_bytes: vec![1 << 24, 1 << 20],
        namespace_handles: vec![4, 1],
        page_bytes: 4096,
    };
    match JobFile::parse(text, "fuzz.fio").and_then(|file| file.resolve(&target)) {
        Ok(jobs) => {
            assert!(!jobs.jobs.is_empty());
            [(1, jobs.jobs.len().min(16) as u16, jobs.ignored.len().min(16) as u16)].into()
        }
        Err(error) => [(2, one_line(&error.to_string()), 0)].into(),
    }
}

/// Reads an experiment: any text yields one that can be built, if it is small, or a one-line error.
pub(crate) fn experiment(input: &[u8]) -> Signature {
    use wafer_lab::{Experiment, Options};
    let Some(text) = text(input) else { return Signature::new() };
    let line =
        |error: wafer_lab::LabError| one_line(&wafer_config::line(&error, ToString::to_string));
    let experiment = match Experiment::from_text(Path::new("fuzz.toml"), text, &Options::default())
    {
        Ok(experiment) => experiment,
        Err(error) => return [(1, line(error), 0)].into(),
    };
    let kind = u16::from(experiment.workload.kind().as_bytes()[0]);
    let memory = experiment.workload.memory_bytes(&experiment.target());
    if !memory.is_ok_and(|bytes| bytes + experiment.device.memory_bytes() < 32 << 20) {
        return [(2, kind, 0)].into();
    }
    match experiment.check() {
        Ok(checked) => [(3, kind, checked.notices.len().min(8) as u16)].into(),
        Err(error) => [(4, kind, line(error))].into(),
    }
}

/// Reads records as `report` and `explain` do: any text yields records, which can be explained and drawn, or a
/// one-line error.
pub(crate) fn record(input: &[u8]) -> Signature {
    let Ok(text) = std::str::from_utf8(input) else { return Signature::new() };
    let records = match wafer_record::records_of_text("fuzz.json", text) {
        Ok(records) => records,
        Err(error) => return [(1, one_line(&error.to_string()), 0)].into(),
    };
    let mut signature = Signature::new();
    for record in &records {
        let explanation = wafer_record::Explanation::of(record);
        signature.insert((
            2,
            explanation.handles.len().min(16) as u16,
            explanation.findings.len() as u16,
        ));
    }
    match wafer_web::report::page(Some("fuzz"), records) {
        Ok(page) => assert!(page.ends_with("</html>\n"), "the page ends"),
        Err(error) => drop(signature.insert((3, one_line(&error.to_string()), 0))),
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
