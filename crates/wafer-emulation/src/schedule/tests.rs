use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use wafer_interface::{Cause, NsId, Placement, RuId, RuhId, TimingConfig};
use wafer_media::{Kind, Shape};

use super::*;

struct Nobody;

impl Wake for Nobody {
    fn wake(&self, _: u64, _: Time) {}
}

/// A drive with a buffer of two programs, without power-loss protection.
pub(crate) fn media() -> Media {
    let (timing, shape) = drive();
    Media::new(&timing, shape).unwrap()
}

pub(crate) fn drive() -> (TimingConfig, Shape) {
    let timing = serde_json::from_value(serde_json::json!({
        "dies": 4, "plane_page": "16KiB", "read_us": 50, "program_us": 900, "slice_us": 100, "missed_slices": 0.1,
        "channels": 2, "link_read": "3GB", "link_write": "3GB", "read_overhead_us": 10, "write_overhead_us": 5,
        "write_buffer": "192KiB", "buffer_protected": false,
    }));
    let shape = Shape { page_bytes: 4096, pages_per_ru: 256, ru_count: 8, groups: 1 };
    (timing.unwrap(), shape)
}

/// Returns a request with its work: a read of a page that was programmed long ago, or a write to reclaim unit 0.
pub(crate) fn request(
    kind: Kind,
    ticket: u64,
    submitted: Time,
    page: u64,
) -> (Request, Vec<MediaWork>) {
    let work = match kind {
        Kind::Read => {
            let cause = Cause::HostRead;
            vec![MediaWork::Read { ru: RuId(1), first: page, pages: 1, cause }]
        }
        Kind::Write => {
            let cause = Cause::HostWrite(RuhId(0));
            vec![MediaWork::Program { ru: RuId(0), first: page as u32 % 255, pages: 1, cause }]
        }
        Kind::Flush | Kind::Other => Vec::new(),
    };
    let moves = u32::from(matches!(kind, Kind::Read | Kind::Write));
    let bytes = u64::from(moves) * 4096;
    (Request { ticket, submitted, kind, page, pages: moves, bytes, durable: false, queue: 0 }, work)
}

/// The command of a request.
pub(crate) fn command(request: &Request) -> Command {
    let (lba, blocks) = (8 * request.page, 8 * request.pages);
    match request.kind {
        Kind::Read => Command { op: Op::Read, ..Command::write(lba, blocks, Placement::NONE) },
        Kind::Write => Command::write(lba, blocks, Placement(1)),
        Kind::Flush => Command::flush(NsId(0)),
        Kind::Other => Command::deallocate(lba, 8),
    }
}

/// Returns when the commands of `requests` complete, by ticket, according to the media alone.
fn simulated(requests: &[(Request, Vec<MediaWork>)]) -> BTreeMap<u64, Time> {
    let (mut media, mut done) = (media(), Vec::new());
    media.reset_counts(0);
    for (request, work) in requests {
        media.advance(request.submitted, &mut done);
        media.submit(*request, work);
    }
    media.advance(Time::MAX, &mut done);
    let mut ends = BTreeMap::new();
    for Done { request, time, .. } in done {
        let end = ends.entry(request.ticket).or_insert(0);
        *end = time.max(*end);
    }
    ends
}

proptest! {
    /// However often the schedule advances, each command completes once, at the time of the simulation.
    #[test]
    fn commands_complete_when_a_simulation_says(
        steps in prop::collection::vec(
            (
                prop_oneof![Just(0), 0..20_000u64, 0..400_000u64],
                prop_oneof![6 => Just(Kind::Read), 6 => Just(Kind::Write), 1 => Just(Kind::Flush), 1 => Just(Kind::Other)],
                1..4usize,
                0..64u64,
                prop::collection::vec(0..300_000u64, 0..3),
            ),
            1..80,
        ),
    ) {
        let (mut time, mut page) = (0, 0);
        let mut schedule = Schedule::new(media());
        let (mut all, mut held, mut completed) = (Vec::new(), 0, BTreeMap::new());
        let holder: Arc<dyn Wake> = Arc::new(Nobody);
        let mut looks = Vec::new();
        for (number, (gap, kind, parts, at, delays)) in steps.iter().enumerate() {
            let ticket = 1 + number as u64;
            time += gap;
            for _ in 0..*parts {
                page += 1;
                let place = if *kind == Kind::Write { page } else { *at };
                let (request, work) = request(*kind, ticket, time, place);
                schedule.submit(&command(&request), request, &work);
                all.push((request, work));
            }
            prop_assert!(schedule.hold(ticket, Arc::downgrade(&holder)));
            held += 1;
            looks.extend(delays.iter().map(|delay| time + delay));
            looks.sort_unstable();
            // Only advances to the next request: anything further comes after it.
            let next = steps.get(number + 1).map_or(Time::MAX, |(gap, ..)| time + gap);
            while looks.first().is_some_and(|look| *look < next) {
                let look = looks.remove(0);
                let mut now = Vec::new();
                schedule.advance(look, &mut now);
                for Completed { ticket, .. } in now {
                    prop_assert!(completed.insert(ticket, look).is_none());
                }
                prop_assert!(schedule.next().is_none_or(|next| next > look));
            }
        }
        // Advances from event to event, as the thread does.
        while let Some(next) = schedule.next() {
            let mut now = Vec::new();
            schedule.advance(next, &mut now);
            for Completed { ticket, done, .. } in now {
                prop_assert_eq!(done.parts.total(), done.time - done.request.submitted);
                prop_assert!(completed.insert(ticket, next).is_none());
            }
        }
        let expected = simulated(&all);
        prop_assert_eq!(completed.len(), held);
        for (ticket, seen) in completed {
            prop_assert!(seen >= expected[&ticket], "{}: {} before {}", ticket, seen, expected[&ticket]);
        }
        prop_assert!(schedule.held.is_empty() && schedule.due.is_empty());
    }
}

/// Without other advances in between, every command completes at its time to the nanosecond.
#[test]
fn a_thread_that_sleeps_until_the_next_event_is_never_late() {
    let mut schedule = Schedule::new(media());
    let holder: Arc<dyn Wake> = Arc::new(Nobody);
    let mut all = Vec::new();
    for ticket in 1..200u64 {
        // The requests of a command end in any order.
        let parts = [Kind::Read, Kind::Write, Kind::Other, Kind::Read];
        for (part, kind) in (ticket % 3..4).zip(parts) {
            let (request, work) = request(kind, ticket, 0, 7 * ticket + part);
            schedule.submit(&command(&request), request, &work);
            all.push((request, work));
        }
        schedule.hold(ticket, Arc::downgrade(&holder));
    }
    let mut completed = BTreeMap::new();
    while let Some(next) = schedule.next() {
        let mut now = Vec::new();
        schedule.advance(next, &mut now);
        completed.extend(now.into_iter().map(|completed| (completed.ticket, next)));
    }
    assert_eq!(completed, simulated(&all));
}

/// Executing a command may take longer than its media work.
#[test]
fn what_is_done_before_it_is_held_completes_at_once() {
    let mut schedule = Schedule::new(media());
    let holder: Arc<dyn Wake> = Arc::new(Nobody);
    let (request, work) = request(Kind::Read, 1, 0, 1);
    schedule.submit(&command(&request), request, &work);
    let mut completed = Vec::new();
    while let Some(next) = schedule.next() {
        schedule.advance(next, &mut completed);
    }
    assert!(completed.is_empty() && schedule.hold(1, Arc::downgrade(&holder)));
    let due = schedule.next().expect("it is due");
    schedule.advance(due, &mut completed);
    assert_eq!(completed.len(), 1);
}

#[test]
fn a_command_without_work_is_not_held() {
    let mut schedule = Schedule::new(media());
    let holder: Arc<dyn Wake> = Arc::new(Nobody);
    assert!(!schedule.hold(1, Arc::downgrade(&holder)));
    // Nor is work that nobody waits for.
    let (request, work) = request(Kind::Read, 0, 5, 1);
    schedule.submit(&command(&request), request, &work);
    assert!(schedule.held.is_empty());
    while let Some(next) = schedule.next() {
        schedule.advance(next, &mut Vec::new());
    }
    assert!(schedule.due.is_empty());
}

/// Longer than any request takes.
const APART: Time = 10_000_000;

/// A Copy reads and writes, and a write with Force Unit Access is flushed, but hosts see one command, a write.
#[test]
fn a_command_of_several_requests_counts_once() {
    let cases: [(&[Kind], Op, u64); 4] = [
        (&[Kind::Read, Kind::Read, Kind::Write, Kind::Write], Op::Write, 8192),
        (&[Kind::Write, Kind::Flush], Op::Write, 4096),
        (&[Kind::Read, Kind::Read, Kind::Read], Op::Read, 12288),
        (&[Kind::Other, Kind::Other], Op::Deallocate, 8192),
    ];
    let holder: Arc<dyn Wake> = Arc::new(Nobody);
    for (kinds, op, bytes) in cases {
        let (mut schedule, mut completed) = (Schedule::new(media()), Vec::new());
        for (at, kind) in kinds.iter().enumerate() {
            let (request, work) = request(*kind, 1, APART * at as u64, at as u64);
            schedule.submit(&command(&request), request, &work);
        }
        schedule.hold(1, Arc::downgrade(&holder));
        while let Some(next) = schedule.next() {
            schedule.advance(next, &mut completed);
        }
        let [Completed { command, done, .. }] = &completed[..] else { panic!("{kinds:?}") };
        assert_eq!((command.op, command.bytes()), (op, bytes));
        assert_eq!((done.request.bytes, done.request.submitted), (bytes, 0));
        assert_eq!(done.parts.total(), done.time);
        assert!(done.time < APART, "the server's time is not that of the media: {}", done.time);
    }
}
