//! The policy on a small log-structured store: its groups match its model.

use wafer_interface::RuhId;

use super::*;
use crate::{Contents, DeviceRng, NOT_CLOSED, Purpose, ReclaimUnits};

const PAGES: u32 = 64;
const UNITS: u32 = 600;
const LOGICAL: usize = 540 * PAGES as usize;
const RESERVE: usize = 4;

struct Store {
    rus: ReclaimUnits,
    rng: DeviceRng,
    policy: Midas,
    /// The reclaim unit of each page and when it was written; the pages put into each unit.
    map: Vec<u32>,
    born: Vec<u64>,
    pages: Vec<Vec<usize>>,
    /// The open unit of each class of host writes and relocated data.
    open: [Option<u32>; GROUPS],
    now: u64,
    moved: u64,
}

impl Store {
    fn new() -> Self {
        let range = 0..UNITS;
        Store {
            rus: ReclaimUnits::new(std::iter::once(range)),
            rng: DeviceRng::new(1, Purpose::Policy),
            policy: Midas::new(&GcConfig::default()),
            map: vec![UNITS; LOGICAL],
            born: vec![0; LOGICAL],
            pages: vec![Vec::new(); UNITS as usize],
            open: [None; GROUPS],
            now: 0,
            moved: 0,
        }
    }

    fn append(&mut self, page: usize, group: usize) {
        let ru = self.open[group].unwrap_or_else(|| {
            let (generation, class) = match group {
                0..HEADS => (0, group as u8),
                _ => ((group - HEADS) as u8 + 1, 0),
            };
            let contents = Contents { owner: Owner::Handle(RuhId(0)), generation, class };
            self.rus.open(0, contents, 0, self.now)
        });
        self.open[group] = Some(ru);
        self.rus.valid[ru as usize] += 1;
        self.pages[ru as usize].push(page);
        self.map[page] = ru;
        if self.pages[ru as usize].len() == PAGES as usize {
            self.rus.units[ru as usize].written = PAGES;
            self.rus.close(ru, self.now);
            self.open[group] = None;
        }
    }

    /// Writes a page, which is short-lived if its last version lived less than a thirtieth of all writes of the store.
    fn write(&mut self, page: usize) {
        while self.rus.free[0].len() <= RESERVE {
            self.collect();
        }
        let old = std::mem::replace(&mut self.map[page], UNITS);
        let lived = self.now - self.born[page];
        if old != UNITS {
            self.rus.invalidate(old, 1);
        }
        self.now += 1;
        self.born[page] = self.now;
        self.append(page, usize::from(lived > LOGICAL as u64 / 30));
    }

    fn collect(&mut self) {
        let Store { rus, rng, policy, now, .. } = self;
        let mut view = RuView {
            rus,
            rng,
            range: 0..UNITS,
            pages_per_ru: PAGES,
            handles: 1,
            now: *now,
            forced: true,
            classes: (GROUPS - HEADS) as u8,
            writer: RuhId(0),
        };
        let victim = policy.select(&mut view).unwrap();
        let class = policy.destination(victim, &mut view).unwrap();
        self.rus.valid[victim.index()] |= NOT_CLOSED;
        for page in std::mem::take(&mut self.pages[victim.index()]) {
            if self.map[page] == victim.0 {
                self.rus.valid[victim.index()] -= 1;
                self.moved += 1;
                self.append(page, HEADS + usize::from(class));
            }
        }
        self.rus.erase(victim.0, 0);
    }
}

/// Returns a page: each of three nested ranges gets a third of the writes.
fn skewed(random: &mut u64) -> usize {
    let mut below = |bound: usize| {
        *random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((*random >> 33) as usize) % bound
    };
    let reach = [LOGICAL / 50, LOGICAL / 5, LOGICAL][below(3)];
    below(reach) * 7919 % LOGICAL
}

#[test]
fn groups_hold_what_the_model_says() {
    let (mut store, mut random) = (Store::new(), 1);
    (0..LOGICAL).for_each(|page| store.write(page));
    (0..8 * LOGICAL).for_each(|_| store.write(skewed(&mut random)));
    let (mut sized, mut deepest) = (0, 0);
    for _ in 0..2 * LOGICAL {
        store.write(skewed(&mut random));
        let groups = store.policy.chains[1].as_ref().unwrap().groups;
        for (number, group) in groups.iter().enumerate() {
            let (Some(size), Some(of)) = (group.size, store.policy.members.get(1)) else {
                continue;
            };
            (sized, deepest) = (sized + 1, deepest.max(number));
            let units = f64::from(of[number].units);
            assert!(units <= size * f64::from(UNITS) + 6.0, "{number}: {units} {group:?}");
            let least = 0.7 * size * f64::from(UNITS) - 4.0;
            assert!(group.epochs < 6 || units >= least, "{number}: {units} {group:?}");
            let mean = group.moved / f64::from(group.victims.max(1));
            let off = (mean - group.expected).abs();
            assert!(group.victims < 40 || off < 0.04, "{number}: {mean} {group:?}");
            assert!(group.joined_until <= store.now, "{number}: {group:?}");
        }
    }
    assert!(sized > 0 && deepest > HEADS, "{sized} {deepest}");
}

#[test]
fn a_group_that_the_model_does_not_fit_is_joined_to_the_last() {
    let (mut store, mut random) = (Store::new(), 1);
    (0..LOGICAL).for_each(|page| store.write(page));
    (0..6 * LOGICAL).for_each(|_| store.write(skewed(&mut random)));
    let joined = |store: &Store| {
        let groups = store.policy.chains[1].as_ref().unwrap().groups;
        groups.iter().filter(|group| group.joined_until > store.now).count()
    };
    assert_eq!(joined(&store), 0);
    // Suddenly every page is as cold as any other: the contents of groups live longer than the model predicts.
    let mut most = 0;
    for at in 0..LOGICAL {
        store.write(at * 7919 % LOGICAL);
        most = most.max(joined(&store));
    }
    assert!(most > 0);
}

#[test]
fn pages_move_from_group_to_group_until_the_last() {
    let mut chain = Chain::new();
    for number in [0, 1, 2, 3] {
        chain.groups[number].size = Some(0.1);
    }
    let next: Vec<usize> = (0..GROUPS).map(|group| chain.next(group)).collect();
    assert_eq!(next, [2, 2, 3, 4, 4, 4]);
    chain.groups[1].size = None;
    assert_eq!(chain.next(1), 4);
}
