use super::*;
use crate::job::JobSpec;
use crate::{Mixer, MixerOptions};
use proptest::prelude::*;
use wafer_core::{Op, Placement};

/// Writes of `blocks` logical blocks one after the other, `count` of them, at given times.
struct Writer {
    blocks: u32,
    next: u64,
    count: u64,
    step: u64,
}

impl CommandStream for Writer {
    fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        for _ in 0..max.min((self.count - self.next) as usize) {
            let lba = self.next * u64::from(self.blocks);
            out.push(Command::write(lba, self.blocks, Placement::NONE));
            self.next += 1;
        }
    }

    fn fill_timed(&mut self, out: &mut Vec<Command>, times: &mut Vec<u64>, max: usize) -> bool {
        let before = self.next;
        self.fill(out, max);
        times.extend((before..self.next).map(|i| i * self.step));
        true
    }
}

fn tenant(i: u8, blocks: u32, count: u64, step: u64) -> Tenant {
    Tenant {
        name: format!("t{i}"),
        stream: Box::new(Writer { blocks, next: 0, count, step }),
        namespace: NsId(i),
        first_block: 0,
        placement: TenantPlacement::default(),
    }
}

fn all(mut stream: Tenants, batch: usize) -> Vec<Command> {
    let mut out = Vec::new();
    loop {
        let before = out.len();
        stream.fill(&mut out, batch);
        if out.len() < before + batch {
            return out;
        }
    }
}

fn bytes_of(commands: &[Command], namespace: u8) -> f64 {
    let own = commands.iter().filter(|c| c.namespace == NsId(namespace));
    own.map(Command::bytes).sum::<u64>() as f64
}

#[test]
fn shares_are_of_bytes_whatever_the_sizes() {
    let tenants = vec![tenant(0, 8, 1 << 40, 0), tenant(1, 512, 1 << 40, 0)];
    let mut stream = Tenants::new(tenants, Pacing::Shares(vec![1.0, 2.2]));
    let mut out = Vec::new();
    stream.fill(&mut out, 200_000);
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
    let mut out = Vec::new();
    stream.fill(&mut out, 120 * 100);
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
    assert_eq!(mixer.queue_depth(), 7);
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
    /// A command's parts cover it exactly, and each block has the handle of its range.
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

    /// Batches do not matter.
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
