use std::sync::mpsc::{Receiver, Sender, channel};

use wafer_media::Kind;

use super::*;
use crate::schedule::tests::{command, drive, request};

/// Longer than any machine sleeps.
const LONG: Duration = Duration::from_secs(60);
/// The read time of cells in tests that wait for it.
const CELLS: Duration = Duration::from_millis(30);

struct Holder(Mutex<Sender<(u64, Instant)>>);

impl Wake for Holder {
    fn wake(&self, ticket: u64, _: Time) {
        self.0.lock().unwrap().send((ticket, Instant::now())).unwrap();
    }
}

fn holder() -> (Arc<Holder>, Receiver<(u64, Instant)>) {
    let (sender, receiver) = channel();
    (Arc::new(Holder(Mutex::new(sender))), receiver)
}

/// Starts a drive whose cells take this long to read.
fn slow(cells: Duration) -> Emulation {
    let (timing, shape) = slow_timing(cells);
    Emulation::start(&timing, shape).unwrap()
}

fn slow_timing(cells: Duration) -> (TimingConfig, Shape) {
    let (timing, shape) = drive();
    let read_us = serde_json::from_value(serde_json::json!(cells.as_micros() as u64));
    (TimingConfig { read_us: read_us.unwrap(), ..timing }, shape)
}

fn begin(emulation: &Emulation, kind: Kind, holder: &Arc<Holder>) -> u64 {
    begin_in(1, emulation, kind, holder)
}

fn begin_in(queue: u16, emulation: &Emulation, kind: Kind, holder: &Arc<Holder>) -> u64 {
    let ticket = emulation.ticket(queue);
    let (asked, work) = request(kind, ticket, 0, ticket);
    emulation.submit(&command(&asked), |submitted| Request { submitted, ..asked }, &work);
    let weak: Weak<dyn Wake> = Arc::<Holder>::downgrade(holder);
    assert!(emulation.hold(ticket, weak));
    ticket
}

#[test]
fn a_completion_does_not_come_before_its_time() {
    let (emulation, (holder, woken)) = (slow(CELLS), holder());
    let began = Instant::now();
    let read = begin(&emulation, Kind::Read, &holder);
    let (ticket, at) = woken.recv_timeout(LONG).unwrap();
    assert_eq!(ticket, read);
    assert!(at.duration_since(began) >= CELLS);
}

/// The thread sleeps until the end of a read, and has to wake up for a write that completes earlier.
#[test]
fn a_later_command_may_complete_sooner() {
    // The longest read time allowed.
    let (emulation, (holder, woken)) = (slow(Duration::from_secs(10)), holder());
    let began = Instant::now();
    begin(&emulation, Kind::Read, &holder);
    std::thread::sleep(Duration::from_millis(5));
    let write = begin(&emulation, Kind::Write, &holder);
    assert_eq!(woken.recv_timeout(LONG).unwrap().0, write);
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// The drive takes one command at a time, from two queues in turn: the read in the second queue does not wait for all
/// of the first.
#[test]
fn queues_take_turns() {
    let (timing, shape) = slow_timing(Duration::from_millis(100));
    let (command_slots, arbitration_burst) = (Some(1), Some(1));
    let timing = TimingConfig { command_slots, arbitration_burst, ..timing };
    let (emulation, (holder, woken)) = (Emulation::start(&timing, shape).unwrap(), holder());
    let (first, second) = (emulation.queue(), emulation.queue());
    let of_first = [0; 3].map(|_| begin_in(first, &emulation, Kind::Read, &holder));
    let of_second = begin_in(second, &emulation, Kind::Read, &holder);
    let order = [0; 4].map(|_| woken.recv_timeout(LONG).unwrap().0);
    assert_eq!(order, [of_first[0], of_first[1], of_second, of_first[2]]);
}

#[test]
fn an_emulation_ends_with_commands_in_flight_and_without_their_holders() {
    let (emulation, (held, woken)) = (slow(CELLS), holder());
    begin(&emulation, Kind::Read, &held);
    drop(held);
    let (other, others) = holder();
    let read = begin(&emulation, Kind::Read, &other);
    assert_eq!(others.recv_timeout(LONG).unwrap().0, read);
    assert!(woken.recv().is_err(), "nobody is left to be woken");
    begin(&emulation, Kind::Read, &other);
    drop(emulation);
    assert!(others.try_recv().is_err());
}

#[test]
fn a_device_without_room_for_a_program_is_refused() {
    let (timing, shape) = drive();
    let timing = TimingConfig { dies: 0, ..timing };
    assert!(Emulation::start(&timing, shape).is_err_and(|(key, _)| key.contains("dies")));
}

#[test]
fn what_has_completed_is_in_the_record() {
    let (emulation, (holder, woken)) = (slow(CELLS), holder());
    assert_eq!(emulation.record(|_, _| None).each().count(), 0);
    for kind in [Kind::Read, Kind::Write, Kind::Read] {
        begin(&emulation, kind, &holder);
        woken.recv_timeout(LONG).unwrap();
    }
    emulation.completed(0);
    let record = emulation.record(|_, placement| Some(RuhId(placement.0)));
    let read = record.read.unwrap();
    assert_eq!((read.count, read.bytes), (2, 8192));
    assert!(read.max_us >= 30_000.0, "{}", read.max_us);
    assert_eq!(record.write.unwrap().count, 1);
    let handles: Vec<String> = record.handles.keys().map(ToString::to_string).collect();
    assert_eq!(handles, ["1"]);
    assert!(record.namespaces[&1].read.as_ref().is_some_and(|read| read.count == 2));
    assert!(record.dies["host_read"] > 0.0, "{:?}", record.dies);
    // From the start of the clock until now.
    assert!(record.late_us["50"] / 1e6 <= 1.01 * record.seconds, "{:?}", record.late_us);
    assert!(record.late_us["50"] >= 30_000.0, "{:?}", record.late_us);
}
