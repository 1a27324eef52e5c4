//! A drive opened on arbitrary bytes: what stands beside its data, as its state and its journal. Shared by the
//! target of cargo-fuzz and by `crates/wafer-cli/tests/fuzz.rs`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use wafer_drive::{Drive, DriveError, DriveOptions, Environment};
use wafer_faults::FaultyStorage;
use wafer_interface::{Command, NsId, Placement};
use wafer_storage::DataSpec;
use wafer_storage::Storage;

/// Bytes of a page, and its blocks.
const PAGE: u64 = 4096;
const BLOCKS: u32 = 8;
const PAGES: u64 = 1024;

/// Files of a drive: its data, and what it keeps beside them.
const DATA: &str = "drive";
const STATE: &str = "drive.state";
const JOURNAL: &str = "drive.journal";

/// Where the write log begins in the file of the journal, and where a small drive's ends.
const LOG_AT: u64 = 512 + (1 << 20);
const JOURNAL_BYTES: u64 = LOG_AT + (4 << 20);

fn open(storage: &FaultyStorage) -> Result<Drive, DriveError> {
    let device = serde_json::json!({
        "capacity": PAGES * PAGE, "page": PAGE, "handles": 2,
        "reclaim_unit": { "size": 256 * PAGE, "count": 20 },
        "namespaces": [{ "size": 640 * PAGE, "handles": [0, 1] }, { "size": 384 * PAGE, "handles": [1] }],
    });
    let options = DriveOptions {
        device: serde_json::from_value(device).expect("a configuration"),
        seed: 0,
        data: DataSpec::File(DATA.into()),
        lba_bytes: 4096,
        events_enabled: false,
        given: Default::default(),
    };
    Drive::with(
        options,
        Environment { storage: Arc::new(storage.clone()), ..Environment::default() },
    )
}

/// Writes, deallocates and updates.
fn work(drive: &Drive, count: u64) {
    let host = drive.host("fuzz");
    for at in 0..count {
        let namespace = NsId(u8::from(at % 3 == 0));
        let lba = at * 7919 % 300 * u64::from(BLOCKS);
        let command =
            Command { namespace, ..Command::write(lba, BLOCKS, Placement(u16::from(at % 5 == 0))) };
        // The files may be those of a drive that can record nothing.
        let _ = drive.apply(host, &[command]);
        if at % 17 == 0 {
            let more = [Command::deallocate(lba, BLOCKS), Command::update(NsId(0), Placement(0))];
            let _ = drive.apply(host, &more);
        }
    }
}

/// Reads a part of a file, without the zeroes at its end.
fn bytes(storage: &FaultyStorage, path: &str, part: Range<u64>) -> Vec<u8> {
    let file = storage.open(Path::new(path)).expect("a file");
    let end = file.len().expect("a length").min(part.end);
    let mut bytes = vec![0; end.saturating_sub(part.start) as usize];
    file.read_at(&mut bytes, part.start).expect("its bytes");
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    bytes
}

/// Returns the input of a drive that wrote `count` pages and was closed, or was killed.
pub(crate) fn sample(count: u64, closed: bool) -> Vec<u8> {
    let storage = FaultyStorage::default().without_marks();
    let drive = open(&storage).expect("a drive");
    work(&drive, count);
    if closed {
        drive.close().expect("a state");
    }
    drop(drive);
    let state = bytes(&storage, STATE, 0..u64::MAX);
    let journal = bytes(&storage, JOURNAL, 0..LOG_AT);
    let log = bytes(&storage, JOURNAL, LOG_AT..JOURNAL_BYTES);
    let lengths = [state.len() as u32, journal.len() as u32].map(u32::to_le_bytes);
    [lengths.as_flattened(), &state, &journal, &log].concat()
}

/// Opens a drive: the lengths of the state and of the journal, the state, the journal, the write log. What is
/// accepted must work, and be accepted again after a clean end.
pub(crate) fn drive(input: &[u8]) -> BTreeSet<(u8, u16, u16)> {
    let Some((lengths, rest)) = input.split_first_chunk::<8>() else { return BTreeSet::new() };
    let length = |at: usize, rest: &[u8]| {
        let bytes = lengths[at..at + 4].try_into().expect("four bytes");
        (u32::from_le_bytes(bytes) as usize).min(rest.len())
    };
    let (state, rest) = rest.split_at(length(0, rest));
    let (journal, log) = rest.split_at(length(4, rest));
    let journal = &journal[..journal.len().min(LOG_AT as usize)];
    let storage = FaultyStorage::default().without_marks();
    if !state.is_empty() {
        let file = storage.open(Path::new(STATE)).expect("a file");
        file.write_at(state, 0).expect("room");
        storage.open(Path::new(DATA)).and_then(|file| file.set_len(PAGES * PAGE)).expect("room");
    }
    if !journal.is_empty() || !log.is_empty() {
        let file = storage.open(Path::new(JOURNAL)).expect("a file");
        // With the zeroes that its input leaves out.
        file.set_len(JOURNAL_BYTES).expect("room");
        file.write_at(journal, 0).expect("room");
        file.write_at(log, LOG_AT).expect("room");
    }
    let drive = match open(&storage) {
        Ok(drive) => drive,
        Err(error) => {
            let message = error.to_string();
            assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
            let words = message.split(|c: char| !c.is_ascii_lowercase()).filter(|w| w.len() > 3);
            let hash = words
                .flat_map(str::bytes)
                .fold(0u16, |h, b| h.wrapping_mul(31).wrapping_add(b.into()));
            return [(1, hash % 64, 0)].into();
        }
    };
    let notices = drive.notices().len().min(8) as u16;
    let namespaces = drive.namespaces().iter().flatten().count().min(64) as u16;
    work(&drive, 40);
    drive.close().expect("a drive that was accepted is saved");
    drop(drive);
    open(&storage).expect("its state is accepted");
    [(2, notices, namespaces)].into()
}
