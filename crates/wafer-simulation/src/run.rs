//! Runs a seed: the steps of the simulation, with crashes of the server between them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use crate::disk::Fingerprint;
use crate::plan::{Dice, Plan};
use crate::world::{Crash, HOSTS, Replaced, World};
use crate::{host, operator, server};

/// Simulated time after which a run counts as hung.
const LIMIT: Duration = Duration::from_secs(60);

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Fingerprint of everything on the wire and on the disk, and of every event, in order.
    pub fingerprint: Fingerprint,
    /// Number of commands submitted by hosts.
    pub commands: u64,
    /// Number of failed disk operations.
    pub faults: u64,
    /// Number of crashes of the server.
    pub crashes: u64,
    /// The first problem, if any.
    pub violation: Option<String>,
}

/// Runs the plan of a seed. `trace` prints the events.
pub fn run(seed: u64, trace: bool) -> Outcome {
    run_plan(Plan::of(seed), trace)
}

/// Runs a plan. `trace` prints the events.
pub fn run_plan(plan: Plan, trace: bool) -> Outcome {
    let world = World::new(plan, trace);
    world.event_at(Duration::ZERO, format_args!("{plan:?}"));
    let mut sim = turmoil::Builder::new()
        .rng_seed(plan.seed)
        .epoch(SystemTime::UNIX_EPOCH)
        .simulation_duration(LIMIT)
        .tick_duration(Duration::from_millis(1))
        .min_message_latency(Duration::ZERO)
        .max_message_latency(plan.latency)
        .tcp_capacity(1 << 12)
        .build();
    let shared = Arc::clone(&world);
    sim.host("server", move || server::run(Arc::clone(&shared)));
    for number in 0..HOSTS {
        sim.client(format!("host{number}"), host::run(Arc::clone(&world), number));
    }
    sim.client("operator", operator::run(Arc::clone(&world)));
    let mut chaos = Chaos {
        dice: Dice::new(plan.seed, 3),
        down: None,
        old: Vec::new(),
        crashes: 0,
        ran: false,
        dying: false,
    };
    let deadline = LIMIT;
    loop {
        match sim.step() {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => {
                world.violation(format_args!("the run fails: {error}"));
                break;
            }
        }
        chaos.step(&mut sim, &world);
        if sim.elapsed() > deadline || world.over.load(Ordering::Relaxed) {
            break;
        }
    }
    if !world.over.load(Ordering::Relaxed) {
        world.violation("the run does not end");
    }
    drop(sim);
    world.disk.revive();
    world.set_running(None);
    Outcome {
        fingerprint: world.disk.fingerprint(),
        commands: world.commands.load(Ordering::Relaxed),
        faults: world.disk.injected(),
        crashes: chaos.crashes,
        violation: world.violated(),
    }
}

/// Crashes the server and restarts it.
struct Chaos {
    dice: Dice,
    /// When the server restarts, and how it ended.
    down: Option<(Duration, Crash)>,
    /// State and journal at earlier crashes, oldest first.
    old: Vec<[Option<Vec<u8>>; 2]>,
    crashes: u64,
    /// Whether the last server had opened the drive when it crashed.
    ran: bool,
    /// Whether the disk has died but the server has not been crashed yet.
    dying: bool,
}

impl Chaos {
    fn step(&mut self, sim: &mut turmoil::Sim<'_>, world: &World) {
        if let Some((until, crash)) = self.down {
            if sim.elapsed() < until {
                return;
            }
            self.down = None;
            world.disk.revive();
            if crash.files {
                self.replace(world);
            }
            sim.bounce("server");
            return;
        }
        if world.disk.is_dead() && !self.dying {
            // Its connections end in this step.
            self.dying = true;
            return;
        }
        let Some(crash) = world.take_crash() else { return };
        if !self.dying {
            world.disk.die();
            world.crash(Crash { after: 0, ..crash });
            return;
        }
        self.dying = false;
        sim.crash("server");
        self.crashes += 1;
        self.ran = world.subsystem().is_some();
        world.set_running(None);
        world.event_at(
            sim.elapsed(),
            format_args!("the server is gone; power lost: {}", crash.power),
        );
        self.old.push(world.disk.files().map(|(_, contents)| contents));
        if crash.power {
            world.disk.lose_power();
        }
        world.model().server_gone(crash.power);
        let down = 1 + self.dice.below(30);
        world.disturb_at(sim.elapsed(), down + 500);
        self.down = Some((sim.elapsed() + Duration::from_millis(down), crash));
    }

    /// Replaces a file with one that does not belong there.
    fn replace(&mut self, world: &World) {
        let now = world.disk.files();
        let journal = now[1].1.clone();
        // A crash between a checkpoint and its journal leaves the previous journal, but never an older one. While no
        // server has begun a journal, the previous one still belongs to the drive.
        let older = self.old.len().checked_sub(3).map(|at| self.old[at].clone());
        let older = older.filter(|[_, old]| self.ran && generation(old) < generation(&journal));
        let half = journal.as_ref().map(|bytes| bytes[..bytes.len() / 2].to_vec());
        let (what, at, contents) = match (self.dice.below(4), older) {
            (0, Some([state, _])) => ("an older state", 0, state),
            (1, Some([_, journal])) => ("an older journal", 1, journal),
            (2, _) => ("half a journal", 1, half),
            (_, _) => ("no journal", 1, None),
        };
        let (path, own) = &now[at];
        if *own == contents {
            return;
        }
        world.event_at(Duration::ZERO, format_args!("the server is to start with {what}"));
        world.disk.storage.replace(path, contents);
        world.set_replaced(Replaced { what, files: now.to_vec() });
    }
}

/// Position of the generation in the header of a journal.
const GENERATION: std::ops::Range<usize> = 32..40;

/// Returns the generation in the header of a journal.
fn generation(journal: &Option<Vec<u8>>) -> Option<[u8; 8]> {
    let mut bytes: [u8; 8] = journal.as_ref()?.get(GENERATION)?.try_into().ok()?;
    // Big-endian, so that the order is numerical.
    bytes.reverse();
    Some(bytes)
}
