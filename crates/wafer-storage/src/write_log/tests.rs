use std::path::Path;

use super::region::SECTOR;
use super::*;
use crate::files::{Files, Storage as _};

const LENGTH: u64 = 1 << 19;

fn open(folder: &Path, length: u64) -> io::Result<WriteLog> {
    let file = Files.open(&folder.join("log"))?;
    file.set_len(LENGTH)?;
    WriteLog::open(JournalFile::new(file), 0, length)
}

#[test]
fn a_damaged_log_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let data = Files.open(&folder.path().join("data")).unwrap();
    data.set_len(1 << 20).unwrap();
    let log = open(folder.path(), LENGTH).unwrap();
    log.begin(&*data, &|| Ok(())).unwrap();
    assert!(log.write(1 << 19, &[1; 512]).unwrap());
    drop(log);
    let refused = |length| open(folder.path(), length).err().unwrap().to_string();
    // No room for a frame.
    for length in [0, 2 * SECTOR, 2 * SECTOR + 4 * ATOMIC] {
        assert!(refused(length).contains("damaged"), "{length}");
    }
    // The log has data beyond the end of the data file.
    data.set_len(1 << 19).unwrap();
    let log = open(folder.path(), LENGTH).unwrap();
    let error = log.begin(&*data, &|| Ok(())).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    assert_eq!(data.len().unwrap(), 1 << 19);
    // One valid header is enough; without one, the log is damaged.
    data.set_len(1 << 20).unwrap();
    log.begin(&*data, &|| Ok(())).unwrap();
    let file = Files.open(&folder.path().join("log")).unwrap();
    file.write_at(&[1], 0).unwrap();
    open(folder.path(), LENGTH).unwrap();
    file.write_at(&[1], SECTOR).unwrap();
    assert!(refused(LENGTH).contains("damaged"));
}

#[test]
fn headers_and_frames_that_no_drive_writes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = Files.open(&folder.path().join("data")).unwrap();
    data.set_len(1 << 20).unwrap();
    let log = open(folder.path(), LENGTH).unwrap();
    log.begin(&*data, &|| Ok(())).unwrap();
    let first = log.state().epoch;
    let frame = Frame { kind: ZEROES, offset: 0, length: 0, data: &[] };
    log.region.write_frame(&mut Vec::new(), (first, 0), &frame).unwrap();
    assert!(open(folder.path(), LENGTH).unwrap().begin(&*data, &|| Ok(())).is_err());
    for (sequence, first) in [(u64::MAX, 1), (9, u64::MAX)] {
        log.region.write_header(Header { sequence, first }, 0).unwrap();
        let error = open(folder.path(), LENGTH).err().unwrap();
        assert!(error.to_string().contains("damaged"), "{error}");
    }
}

/// A log, its data file, and the number of syncs of that file.
struct Bench {
    log: WriteLog,
    data: Arc<dyn StorageFile>,
    syncs: std::cell::Cell<u32>,
}

impl Bench {
    fn new(folder: &Path) -> Self {
        let data = Files.open(&folder.join("data")).unwrap();
        data.set_len(1 << 20).unwrap();
        let log = open(folder, LENGTH).unwrap();
        log.begin(&*data, &|| Ok(())).unwrap();
        Bench { log, data, syncs: 0.into() }
    }

    fn sync(&self) -> io::Result<()> {
        self.syncs.set(self.syncs.get() + 1);
        Ok(())
    }

    fn write(&self, offset: u64, byte: u8) {
        let data = [byte; 4096];
        while !self.log.write(offset, &data).unwrap() {
            self.log.make_room(&*self.data, FRAME + data.len(), &|| self.sync()).unwrap();
        }
    }

    fn read(&self, offset: u64) -> u8 {
        let mut buffer = [0; 4096];
        self.log.read(&*self.data, offset, &mut buffer).unwrap();
        buffer[0]
    }
}

#[test]
fn the_data_file_is_synced_once_for_many_segments() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(folder.path());
    let per_segment = bench.log.region.capacity / (4096 + FRAME as u64);
    for round in 0..per_segment * 20 {
        bench.write(round % 100 * 4096, round as u8);
    }
    assert!((4..=8).contains(&bench.syncs.get()), "{}", bench.syncs.get());
}

#[test]
fn with_work_done_in_the_background_no_write_does_it() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(folder.path());
    let due = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&due);
    bench.log.on_work(Box::new(move |work| told.lock().unwrap().push(work)));
    for round in 0..1_000u64 {
        let (offset, data) = (round % 100 * 4096, [round as u8; 4096]);
        while !bench.log.write(offset, &data).unwrap() {
            assert!(bench.log.turn(FRAME + data.len()), "write {round} has to wait");
        }
        let take = || due.lock().unwrap().pop();
        while let Some(work) = take() {
            match work {
                LogWork::Apply => bench.log.apply(&*bench.data).unwrap(),
                LogWork::Release => bench.log.release(&|| bench.sync()).unwrap(),
            }
        }
        assert_eq!(bench.read(offset), round as u8);
    }
    assert!(bench.syncs.get() > 5);
}

/// A new process finds the frames of every segment that is not released, in order.
#[test]
fn segments_are_found_again_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    for writes in (0..400).step_by(7) {
        let bench = Bench::new(folder.path());
        for round in 0..writes {
            bench.write(round % 3 * 4096, round as u8);
            if round % 50 == 49 {
                let zeroes = || bench.data.punch_hole(0, 1 << 20);
                while let Some(bytes) = bench.log.in_place(0, 1 << 20, None, zeroes).unwrap() {
                    bench.log.make_room(&*bench.data, bytes, &|| Ok(())).unwrap();
                }
            }
        }
        let found: Vec<u8> = (0..3).map(|at| bench.read(at * 4096)).collect();
        drop(bench);
        let bench = Bench::new(folder.path());
        let again: Vec<u8> = (0..3).map(|at| bench.read(at * 4096)).collect();
        assert_eq!(again, found, "{writes} writes");
    }
}

/// Applied data that is not released would also come back.
#[test]
fn a_long_write_replaces_what_is_applied() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(folder.path());
    bench.write(4096, 1);
    assert!(bench.log.begin_segment(&mut bench.log.state()));
    bench.log.apply(&*bench.data).unwrap();
    let long = vec![2; 1 << 18];
    let write = || bench.data.write_at(&long, 0);
    let room = bench.log.in_place(0, 1 << 18, Some(&long), write).unwrap();
    assert_eq!(room, None);
    drop(bench);
    assert_eq!(Bench::new(folder.path()).read(4096), 2);
}

/// Applying a segment would bring data back to a range that was deallocated after the segment was full.
#[test]
fn what_is_deallocated_while_a_segment_is_full_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(folder.path());
    bench.write(4096, 1);
    assert!(bench.log.begin_segment(&mut bench.log.state()));
    let zeroes = || bench.data.punch_hole(0, 1 << 20);
    assert_eq!(bench.log.in_place(0, 1 << 20, None, zeroes).unwrap(), None);
    bench.log.apply(&*bench.data).unwrap();
    bench.log.release(&|| Ok(())).unwrap();
    assert_eq!(bench.read(4096), 0);
    drop(bench);
    assert_eq!(Bench::new(folder.path()).read(4096), 0);
}
