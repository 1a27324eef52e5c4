use proptest::prelude::*;
use wafer_fio::job::JobSpec;
use wafer_fio::{Mixer, MixerOptions};
use wafer_interface::{Op, Placement};

use super::*;

/// `count` sequential writes of `blocks` logical blocks, at given times.
struct Writer {
    blocks: u32,
    next: u64,
    count: u64,
    step: u64,
}

impl CommandStream for Writer {
    fn description(&self) -> StreamDescription {
        StreamDescription {
            identifiers: false,
            queue_depth: 1,
            loads: false,
            timed: true,
            waits: false,
        }
    }

    fn load(&mut self, _: &mut Batch, _: usize) -> StreamState {
        StreamState::Ended
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let end = batch.len() + max;
        for _ in 0..max.min((self.count - self.next) as usize) {
            let lba = self.next * u64::from(self.blocks);
            batch.commands.push(Command::write(lba, self.blocks, Placement::NONE));
            batch.times.push(self.next * self.step);
            self.next += 1;
        }
        batch.state_at(end)
    }

    fn completed(&mut self, _: &[Completion]) {}

    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

/// A closed loop: at most `depth` page writes in flight, at ascending addresses.
struct ClosedLoop {
    depth: usize,
    sent: u64,
    in_flight: Vec<u64>,
}

impl CommandStream for ClosedLoop {
    fn description(&self) -> StreamDescription {
        let queue_depth = self.depth as u32;
        StreamDescription {
            identifiers: true,
            queue_depth,
            loads: false,
            timed: false,
            waits: true,
        }
    }

    fn load(&mut self, _: &mut Batch, _: usize) -> StreamState {
        StreamState::Ended
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        for _ in 0..max {
            if self.in_flight.len() == self.depth {
                return StreamState::Waiting;
            }
            batch.commands.push(Command::write(self.sent * 8, 8, Placement(0)));
            batch.tickets.push(self.sent);
            self.in_flight.push(self.sent);
            self.sent += 1;
        }
        StreamState::Ready
    }

    fn completed(&mut self, completions: &[Completion]) {
        for completion in completions {
            let found = self.in_flight.iter().position(|ticket| *ticket == completion.ticket);
            self.in_flight.remove(found.expect("the ticket of a command in flight"));
        }
    }

    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

/// When commands complete in reverse, each tenant still gets its own tickets.
#[test]
fn completions_reach_the_tenant_that_waits() {
    let tenant = |i: u8, stream: Box<dyn CommandStream>| Tenant { stream, ..tenant(i, 8, 0, 0) };
    let closed = |depth| Box::new(ClosedLoop { depth, sent: 0, in_flight: Vec::new() });
    let open = Box::new(Writer { blocks: 8, next: 0, count: 1000, step: 0 });
    let tenants = vec![tenant(0, closed(3)), tenant(1, open), tenant(2, closed(5))];
    let mut stream = Tenants::new(tenants, Pacing::ClosedLoop(vec![3, 1, 5]));
    assert!(stream.description().waits);
    let (mut batch, mut seen) = (Batch::default(), [0; 3]);
    for time in 0..40 {
        batch.clear();
        let state = stream.next(&mut batch, 100);
        assert_eq!((state, batch.tickets.len()), (StreamState::Waiting, batch.len()));
        assert!(!batch.is_empty(), "completions let the tenants go on");
        batch.commands.iter().for_each(|c| seen[usize::from(c.namespace.0)] += 1);
        let completion = |ticket: &u64| Completion { ticket: *ticket, time_ns: Some(time) };
        let done: Vec<Completion> = batch.tickets.iter().rev().map(completion).collect();
        stream.completed(&done);
    }
    assert!(seen[0] >= 40 && seen[2] > seen[0] && seen[1] > 0, "{seen:?}");
}

/// Flushes and updates reach the device in order and take no turn.
#[test]
fn commands_without_a_range_accompany_the_next_one() {
    let mixed = |update: bool| {
        let mut commands = vec![];
        for i in 0..10 {
            if update {
                commands.push(Command::flush(NsId(0)));
                commands.push(Command::update(NsId(0), Placement(3)));
            }
            commands.push(Command::write(i * 8, 8, Placement(3)));
        }
        let mut commands = commands.into_iter();
        let first = wafer_interface::stream::from_fn(move |out, max| {
            out.extend(commands.by_ref().take(max))
        });
        let tenants =
            vec![Tenant { stream: Box::new(first), ..tenant(0, 8, 0, 0) }, tenant(1, 8, 20, 0)];
        all(Tenants::new(tenants, Pacing::ClosedLoop(vec![1, 2])), 7)
    };
    let (with, without) = (mixed(true), mixed(false));
    let ranges: Vec<Command> = with.iter().copied().filter(|c| c.op.has_range()).collect();
    assert_eq!(ranges, without);
    let updates: Vec<usize> = (0..with.len()).filter(|&i| with[i].op == Op::Update).collect();
    assert_eq!(updates.len(), 10);
    for i in updates {
        assert_eq!(with[i - 1], Command::flush(NsId(0)));
        assert_eq!((with[i].placement, with[i + 1].op), (Placement(3), Op::Write));
        assert_eq!(with[i + 1].namespace, NsId(0));
    }
}

fn tenant(i: u8, blocks: u32, count: u64, step: u64) -> Tenant {
    Tenant {
        jobs: 1,
        name: format!("t{i}"),
        stream: Box::new(Writer { blocks, next: 0, count, step }),
        namespace: NsId(i),
        first_block: 0,
        placement: TenantPlacement::default(),
    }
}

fn all(mut stream: Tenants, size: usize) -> Vec<Command> {
    let mut batch = Batch::default();
    while stream.next(&mut batch, size) == StreamState::Ready {}
    batch.commands
}

fn take(stream: &mut Tenants, count: usize) -> Vec<Command> {
    let mut batch = Batch::default();
    assert_eq!(stream.next(&mut batch, count), StreamState::Ready);
    batch.commands
}

fn bytes_of(commands: &[Command], namespace: u8) -> f64 {
    let own = commands.iter().filter(|c| c.namespace == NsId(namespace));
    own.map(Command::bytes).sum::<u64>() as f64
}

#[test]
fn shares_are_of_bytes_whatever_the_sizes() {
    let tenants = vec![tenant(0, 8, 1 << 40, 0), tenant(1, 512, 1 << 40, 0)];
    let mut stream = Tenants::new(tenants, Pacing::Shares(vec![1.0, 2.2]));
    let out = take(&mut stream, 200_000);
    let ratio = bytes_of(&out, 1) / bytes_of(&out, 0);
    assert!((ratio / 2.2 - 1.0).abs() < 0.002, "{ratio}");
    let figures = stream.figures();
    assert_eq!((figures[0].tenant.as_str(), figures[0].name.as_str()), ("t0", "written"));
    assert_eq!(figures[0].value, bytes_of(&out, 0));
}

/// Four queues of 64, 32, 16 and 8 commands of 4, 16, 64 and 256 KiB: shares of 1:2:4:8.
#[test]
fn a_closed_loop_shares_by_bytes_in_flight() {
    let blocks = [8, 32, 128, 512];
    let tenants = (0..4).map(|i| tenant(i, blocks[usize::from(i)], 1 << 40, 0)).collect();
    let mut stream = Tenants::new(tenants, Pacing::ClosedLoop(vec![64, 32, 16, 8]));
    let out = take(&mut stream, 120 * 100);
    let first = bytes_of(&out, 0);
    let ratios = [1, 2, 3].map(|i| bytes_of(&out, i) / first);
    assert_eq!(ratios, [2.0, 4.0, 8.0]);
    // Spread: the smallest queue is never served twice within ten commands.
    let places: Vec<usize> = (0..out.len()).filter(|&i| out[i].namespace == NsId(3)).collect();
    assert!(places.windows(2).all(|w| w[1] - w[0] > 10));
}

#[test]
fn times_decide_and_a_tenant_that_ends_leaves_the_rest() {
    let tenants = vec![tenant(0, 8, 5, 100), tenant(1, 8, 3, 30)];
    let out = all(Tenants::new(tenants, Pacing::Time), 2);
    let order: Vec<u8> = out.iter().map(|c| c.namespace.0).collect();
    assert_eq!(order, [0, 1, 1, 1, 0, 0, 0, 0]);
    for pacing in [Pacing::Shares(vec![1.0, 1.0]), Pacing::ClosedLoop(vec![3, 1])] {
        let out = all(Tenants::new(vec![tenant(0, 8, 5, 0), tenant(1, 8, 300, 0)], pacing), 7);
        assert_eq!((out.len(), bytes_of(&out, 0)), (305, 5.0 * 4096.0));
    }
}

#[test]
fn a_job_file_shares_by_its_depth() {
    let mut job = JobSpec::random_overwrite(1 << 20, 4096, 1 << 30, false);
    job.iodepth = 7;
    let mixer = Mixer::new(vec![job], &MixerOptions::default()).unwrap();
    assert_eq!(mixer.description().queue_depth, 7);
}

#[test]
fn ranges_that_overlap_are_refused() {
    let range = |blocks, handle| PlacedRange { blocks, handle };
    assert_eq!(TenantPlacement::new(None, vec![range(0..8, 0), range(7..9, 1)]), Err(1));
    assert_eq!(TenantPlacement::new(None, vec![range(8..8, 0)]), Err(0));
    let placed = TenantPlacement::new(Some(3), vec![range(16..24, 1), range(0..8, 0)]).unwrap();
    let mut out = Vec::new();
    placed.place(Command::write(4, 30, Placement::NONE), &mut out);
    placed.place(Command::write(4, 30, Placement(9)), &mut out);
    let parts: Vec<_> = out.iter().map(|c| (c.lba, c.blocks, c.placement.0)).collect();
    assert_eq!(parts, [(4, 4, 0), (8, 8, 3), (16, 8, 1), (24, 10, 3), (4, 30, 9)]);
}

proptest! {
    /// The parts of a command cover it exactly, and each block has the handle of its range.
    #[test]
    fn parts_cover_the_command(
        borders in proptest::collection::btree_set(0u64..200, 2..8),
        lba in 0u64..200,
        blocks in 0u32..64,
    ) {
        let borders: Vec<u64> = borders.into_iter().collect();
        let ranges: Vec<PlacedRange> = borders.windows(2).step_by(2).zip(0..)
            .map(|(w, handle)| PlacedRange { blocks: w[0]..w[1], handle }).collect();
        let placement = TenantPlacement::new(None, ranges.clone()).unwrap();
        let mut out = Vec::new();
        placement.place(Command::write(lba, blocks, Placement::NONE), &mut out);
        let mut at = lba;
        for part in &out {
            prop_assert_eq!(part.lba, at);
            prop_assert!(part.op == Op::Write && part.blocks > 0);
            for block in at..at + u64::from(part.blocks) {
                let own = ranges.iter().find(|r| r.blocks.contains(&block));
                let handle = own.map_or(Placement::NONE, |r| Placement(r.handle));
                prop_assert_eq!(part.placement, handle);
            }
            at += u64::from(part.blocks);
        }
        prop_assert_eq!(at, lba + u64::from(blocks));
    }

    #[test]
    fn batches_do_not_matter(batch in 1usize..50, shares in any::<bool>()) {
        let make = || {
            let pacing = if shares { Pacing::Shares(vec![1.0, 0.3, 2.0]) }
                else { Pacing::ClosedLoop(vec![3, 1, 5]) };
            let range = PlacedRange { blocks: 20..100, handle: 2 };
            let mut tenants: Vec<Tenant> =
                (0..3).map(|i| tenant(i, 8 << i, 40 + u64::from(i), 0)).collect();
            tenants[1].placement = TenantPlacement::new(None, vec![range]).unwrap();
            Tenants::new(tenants, pacing)
        };
        prop_assert_eq!(all(make(), batch), all(make(), 10_000));
    }
}
