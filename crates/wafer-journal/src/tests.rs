use std::path::Path;

use serde::Deserialize;
use wafer_storage::{Files, Storage as _};

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Change {
    Delete { nsid: u32 },
}

const DRIVE: [u8; 16] = [7; 16];

fn commands(count: u64) -> Vec<Command> {
    (0..count)
        .map(|i| match i % 5 {
            4 => Command::update(NsId(i as u8), Placement(3)),
            _ => Command::write(i * 8, 8, Placement(1)).on(NsId(2)),
        })
        .collect()
}

fn file(folder: &Path) -> Arc<JournalFile> {
    JournalFile::new(Files.open(&folder.join("journal")).unwrap())
}

/// Returns the commands of a journal by batch.
fn batches(journal: &Journal) -> Vec<Vec<Command>> {
    let mut frames = journal.frames();
    std::iter::from_fn(|| frames.next_entry::<Change>().unwrap())
        .map(|entry| match entry {
            Entry::Batch { commands, .. } => commands,
            Entry::Change(_) => panic!("a change"),
        })
        .collect()
}

fn add(journal: &mut Journal, count: u64) {
    journal.batch((1, 2), Transferred { reads: 3, writes: 4 }, &commands(count)).unwrap();
}

#[test]
fn frames_of_the_generation_come_back_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(file(folder.path()), DRIVE, 1 << 16, 4096).unwrap();
    assert_eq!(journal.header().generation, 0);
    journal.begin(7).unwrap();
    (1..40).for_each(|count| add(&mut journal, count));
    let change = Change::Delete { nsid: 9 };
    assert!(journal.prepare(&change).unwrap());
    journal.append().unwrap();
    drop(journal);
    let mut journal = Journal::open(file(folder.path())).unwrap().unwrap();
    let header = journal.header();
    assert_eq!((header.drive, header.generation, header.ending), (DRIVE, 7, Ending::Killed));
    let mut frames = journal.frames();
    for count in 1..40 {
        let Some(Entry::Batch { timestamp, transferred, commands: found }) =
            frames.next_entry::<Change>().unwrap()
        else {
            panic!("batch {count} is missing");
        };
        assert_eq!((timestamp, transferred), ((1, 2), Transferred { reads: 3, writes: 4 }));
        assert_eq!(found, commands(count));
    }
    let Some(Entry::Change(change)) = frames.next_entry().unwrap() else { panic!("no change") };
    assert_eq!(change, Box::new(Change::Delete { nsid: 9 }));
    assert!(frames.next_entry::<Change>().unwrap().is_none());
    // A new generation hides the frames of the old one.
    journal.begin(8).unwrap();
    add(&mut journal, 1);
    journal.end(Ending::Clean).unwrap();
    drop(journal);
    let journal = Journal::open(file(folder.path())).unwrap().unwrap();
    assert_eq!((journal.header().generation, journal.header().ending), (8, Ending::Clean));
    assert_eq!(batches(&journal), [commands(1)]);
}

#[test]
fn a_torn_frame_ends_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(file(folder.path()), DRIVE, 1 << 16, 4096).unwrap();
    journal.begin(1).unwrap();
    (0..10).for_each(|_| add(&mut journal, 10));
    let frame = (FRAME + BATCH + 10 * COMMAND) as u64;
    assert_eq!(journal.used(), 10 * frame);
    for byte in [0, 5, 9, 40, frame - 1] {
        let mut one = [0];
        journal.file.read_at(&mut one, journal.header.frames() + 6 * frame + byte).unwrap();
        journal.file.write_at(&[one[0] ^ 1], journal.header.frames() + 6 * frame + byte).unwrap();
        assert_eq!(batches(&journal).len(), 6, "byte {byte}");
        let mut frames = journal.frames();
        while frames.next_entry::<Change>().unwrap().is_some() {}
        // A wrong length hides the frames behind it.
        assert_eq!(frames.is_damaged::<Change>().unwrap(), byte > 3, "byte {byte}");
        journal.file.write_at(&one, journal.header.frames() + 6 * frame + byte).unwrap();
    }
    assert_eq!(batches(&journal).len(), 10);
    // A retracted frame is not damaged, although a later frame is intact.
    journal.retract(8 * frame).unwrap();
    let mut frames = journal.frames();
    (0..8).for_each(|_| assert!(frames.next_entry::<Change>().unwrap().is_some()));
    assert!(
        frames.next_entry::<Change>().unwrap().is_none() && !frames.is_damaged::<Change>().unwrap()
    );
}

#[test]
fn a_full_journal_has_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let capacity = 3 * (FRAME + BATCH + COMMAND) as u64;
    let mut journal = Journal::create(file(folder.path()), DRIVE, capacity, 4096).unwrap();
    journal.begin(1).unwrap();
    for _ in 0..3 {
        assert!(journal.has_room(1));
        add(&mut journal, 1);
    }
    assert!(!journal.has_room(0));
    assert_eq!(batches(&journal).len(), 3);
}

#[test]
fn damaged_headers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(Journal::create(file(folder.path()), DRIVE, 4096, 4096).unwrap());
    let path = folder.path().join("journal");
    let good = std::fs::read(&path).unwrap();
    for at in 0..HEADER {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&path, bad).unwrap();
        assert!(Journal::open(file(folder.path())).unwrap().is_err(), "byte {at}");
    }
    for (length, reason) in [(0, "empty"), (HEADER - 1, "truncated"), (good.len() - 1, "truncated")]
    {
        std::fs::write(&path, &good[..length]).unwrap();
        assert_eq!(Journal::open(file(folder.path())).unwrap().err(), Some(reason));
    }
}
