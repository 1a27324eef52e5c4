use std::sync::mpsc::{Receiver, Sender, channel};

use wafer_media::Kind;

use super::*;
use crate::schedule::tests::{drive, request};

/// Longer than any machine sleeps.
const LONG: Duration = Duration::from_secs(60);

struct Holder(Mutex<Sender<(u64, Instant)>>);

impl Wake for Holder {
    fn wake(&self, ticket: u64) {
        self.0.lock().unwrap().send((ticket, Instant::now())).unwrap();
    }
}

fn holder() -> (Arc<Holder>, Receiver<(u64, Instant)>) {
    let (sender, receiver) = channel();
    (Arc::new(Holder(Mutex::new(sender))), receiver)
}

/// A drive whose cells take 30 ms to read.
fn slow() -> Emulation {
    let (timing, shape) = drive();
    let timing = TimingConfig { read_us: serde_json::from_str("30000").unwrap(), ..timing };
    Emulation::start(&timing, shape).unwrap()
}

fn begin(emulation: &Emulation, kind: Kind, holder: &Arc<Holder>) -> u64 {
    let ticket = emulation.ticket();
    let (asked, work) = request(kind, ticket, 0, ticket);
    emulation.submit(|submitted| Request { submitted, ..asked }, &work);
    let weak: Weak<dyn Wake> = Arc::<Holder>::downgrade(holder);
    assert!(emulation.hold(ticket, weak));
    ticket
}

#[test]
fn completions_come_in_the_order_of_their_times_and_not_before() {
    let (emulation, (holder, woken)) = (slow(), holder());
    let began = Instant::now();
    let read = begin(&emulation, Kind::Read, &holder);
    // The thread sleeps until the read now, and has to wake up sooner.
    std::thread::sleep(Duration::from_millis(2));
    let write = begin(&emulation, Kind::Write, &holder);
    let (first, _) = woken.recv_timeout(LONG).unwrap();
    let (second, at) = woken.recv_timeout(LONG).unwrap();
    assert_eq!((first, second), (write, read));
    assert!(at.duration_since(began) >= Duration::from_millis(30));
}

#[test]
fn an_emulation_ends_with_commands_in_flight_and_without_their_holders() {
    let (emulation, (held, woken)) = (slow(), holder());
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
