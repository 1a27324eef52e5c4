//! A drive opened on arbitrary bytes: what stands beside its data, as its state and its journal. Shared by the
//! target of cargo-fuzz and by `crates/wafer-cli/tests/fuzz.rs`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use wafer_drive::backend::DataSpec;
use wafer_drive::storage::Storage;
use wafer_drive::{Drive, DriveError, DriveOptions, Environment};
use wafer_faults::FaultyStorage;
use wafer_interface::{Command, NsId, Placement};

/// Bytes of a page, and its blocks.
const PAGE: u64 = 4096;
const BLOCKS: u32 = 8;
const PAGES: u64 = 1024;

/// Files of a drive: its data, and what it keeps beside them.
const DATA: &str = "drive";
const STATE: &str = "drive.state";
const JOURNAL: &str = "drive.journal";

/// Bytes of the journal of a small drive, with its header and the write log.
const JOURNAL_BYTES: u64 = 512 + (1 << 20) + (4 << 20);

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

fn bytes(storage: &FaultyStorage, path: &str) -> Vec<u8> {
    let file = storage.open(Path::new(path)).expect("a file");
    let mut bytes = vec![0; file.len().expect("a length") as usize];
    file.read_at(&mut bytes, 0).expect("its bytes");
    // A file that ends with zeroes may end before them.
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
    let (state, journal) = (bytes(&storage, STATE), bytes(&storage, JOURNAL));
    [&(state.len() as u32).to_le_bytes()[..], &state, &journal].concat()
}

/// Opens a drive: the length of the state, the state, the journal. What is accepted must work, and be accepted
/// again after a clean end.
pub(crate) fn drive(input: &[u8]) -> BTreeSet<(u8, u16, u16)> {
    let Some((length, rest)) = input.split_first_chunk::<4>() else { return BTreeSet::new() };
    let (state, journal) = rest.split_at((u32::from_le_bytes(*length) as usize).min(rest.len()));
    let storage = FaultyStorage::default().without_marks();
    for (path, content) in [(STATE, state), (JOURNAL, journal)] {
        if !content.is_empty() {
            let file = storage.open(Path::new(path)).expect("a file");
            file.write_at(content, 0).expect("room");
            if path == JOURNAL && (content.len() as u64) < JOURNAL_BYTES {
                // The zeroes that its input leaves out.
                file.set_len(JOURNAL_BYTES).expect("room");
            }
        }
    }
    if !state.is_empty() {
        storage.open(Path::new(DATA)).and_then(|file| file.set_len(PAGES * PAGE)).expect("room");
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
