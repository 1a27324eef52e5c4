//! Compares every backend that stores data with an array of bytes.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::files::{Files, Storage as _};
use crate::journal_file::JournalFile;

const SIZE: u64 = 40 << 20;

fn open(path: &Path) -> Backend {
    let log = Files.open(&path.with_extension("log")).unwrap();
    log.set_len((1 << 20) + 1).unwrap();
    let file = JournalFile::new(log);
    let log = WriteLog::open(Arc::clone(&file), 0, 1 << 20).unwrap();
    let note = SyncNote::open(file, 1 << 20).unwrap();
    let data = DataFile::new(Files.open_locked(path).unwrap(), log, note);
    data.begin().unwrap();
    Backend::File(data.into())
}

#[derive(Clone, Debug)]
enum Step {
    Write(u64, Vec<u8>),
    Deallocate(u64, u64),
    Read(u64, u64),
}

fn range() -> impl Strategy<Value = (u64, u64)> {
    // Close to each other and to the borders of chunks and leaves, in units that do not divide them.
    let place = prop_oneof![0..200_000u64, (16 << 20) - 100_000..(16 << 20) + 100_000u64];
    (place, prop_oneof![1..5000u64, 60_000..140_000u64]).prop_map(|(p, l)| (p / 512 * 512, l))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (range(), any::<u8>()).prop_map(|((at, length), seed)| {
            let data = (0..length).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect();
            Step::Write(at, data)
        }),
        range().prop_map(|(at, length)| Step::Deallocate(at, length)),
        range().prop_map(|(at, length)| Step::Read(at, length)),
    ]
}

fn agree(store: &dyn Store, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut model = vec![0u8; SIZE as usize];
    for step in steps {
        match step {
            Step::Write(at, data) => {
                store.write(*at, data).unwrap();
                model[*at as usize..*at as usize + data.len()].copy_from_slice(data);
            }
            Step::Deallocate(at, length) => {
                store.deallocate(*at, *length).unwrap();
                model[*at as usize..(*at + *length) as usize].fill(0);
            }
            Step::Read(at, length) => {
                let mut buffer = vec![0xaa; *length as usize];
                store.read(*at, &mut buffer).unwrap();
                prop_assert!(buffer == model[*at as usize..(*at + *length) as usize]);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn memory_is_an_array_of_bytes(steps in prop::collection::vec(step(), 1..60)) {
        agree(&*Backend::Memory.store(0, SIZE).unwrap(), &steps)?;
    }

    #[test]
    fn a_file_is_an_array_of_bytes(steps in prop::collection::vec(step(), 1..60)) {
        let folder = tempfile::tempdir().unwrap();
        let file = open(&folder.path().join("drive.img"));
        // Another store in front of it, which must not change.
        let other = file.store(0, 1 << 20).unwrap();
        other.write(0, &[7; 4096]).unwrap();
        agree(&*file.store(1 << 20, SIZE).unwrap(), &steps)?;
        let mut start = [0; 4096];
        other.read(0, &mut start).unwrap();
        prop_assert_eq!(start, [7; 4096]);
    }
}

/// Returns a file with a store of 64 MiB, 8 MiB of them written.
fn written(path: &Path) -> (Backend, Arc<dyn Store>) {
    let file = open(path);
    let store = file.store(0, 64 << 20).unwrap();
    store.write(0, &vec![1; 8 << 20]).unwrap();
    file.flush().unwrap();
    (file, store)
}

#[test]
fn deallocating_gives_space_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    let (_file, store) = written(&path);
    let used = || std::fs::metadata(&path).unwrap().blocks() * 512;
    let before = used();
    assert!(before >= 8 << 20, "{before}");
    store.deallocate(1 << 20, 6 << 20).unwrap();
    assert!(used() <= before - (6 << 20), "{before} to {}", used());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 64 << 20);
}

/// A file system may write the dirty part of a range before punching a hole into it.
#[test]
fn neighbours_become_one_hole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    let (file, store) = written(&path);
    let used = || std::fs::metadata(&path).unwrap().blocks() * 512;
    let before = used();
    for offset in (1 << 20..7 << 20).step_by(1 << 16) {
        store.deallocate(offset, 1 << 16).unwrap();
    }
    assert_eq!(used(), before, "nothing waits for a hole");
    let mut buffer = vec![2; 8 << 20];
    store.read(0, &mut buffer).unwrap();
    assert!(
        buffer
            .iter()
            .enumerate()
            .all(|(at, byte)| { *byte == u8::from(!(1 << 20..7 << 20).contains(&at)) })
    );
    file.data_file().unwrap().empty_log().unwrap();
    assert!(used() <= before - (6 << 20), "{before} to {}", used());
}

#[test]
fn a_file_has_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.img");
    let first = Files.open_locked(&path).unwrap();
    let second = Files.open_locked(&path).err().unwrap();
    assert_eq!(second.to_string(), "another process serves this file");
    drop(first);
    Files.open_locked(&path).unwrap();
}

#[test]
fn names_of_backends() {
    for text in ["none", "memory", "file:drive.img"] {
        assert_eq!(text.parse::<DataSpec>().unwrap().to_string(), text);
    }
    assert_eq!("file:".parse::<DataSpec>(), Err("`file:` is not none, memory or file:PATH".into()));
}
