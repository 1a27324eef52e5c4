//! A host that connects, works at random, checks what it reads, and reconnects.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wafer_host::{Completion, HostError, HostOptions, QueueOptions};
use wafer_nvme::{AdminOpcode, Sqe};

use crate::link::{Link, PATIENCE, is_fault, is_timeout};
use crate::plan::Dice;
use crate::server::NQN;
use crate::work::{self, Check, Command, Outstanding, SECTORS, UNIT};
use crate::world::World;

/// Returns the options of a host.
pub(crate) fn options(name: &str, kato: u32, queue: QueueOptions) -> HostOptions {
    HostOptions { kato, queue, ..HostOptions::new(NQN, name) }
}

/// Works until the simulation finishes.
///
/// # Errors
/// None; problems are recorded as violations.
pub(crate) async fn run(world: Arc<World>, number: usize) -> turmoil::Result {
    let mut dice = Dice::new(world.plan.seed, 10 + number as u64);
    while !world.is_finishing() {
        let mut host = Host::new(&world, number, &mut dice);
        let ended = host.session().await;
        host.give_up();
        world.cntlids[number].store(0, Ordering::Relaxed);
        if let Err(error) = ended {
            world.event(format_args!("host {number}: {error}"));
            judge(&world, &error, &format!("host {number}"));
            sleep(Duration::from_millis(5 + dice.below(20))).await;
        }
    }
    world.stopped.fetch_add(1, Ordering::Relaxed);
    while !world.over.load(Ordering::Relaxed) {
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Records a broken connection that the simulation did not cause.
pub(crate) fn judge(world: &World, error: &HostError, who: &str) {
    if is_fault(error) {
        world.violation(format_args!("{who}: {error}"));
    }
    if is_timeout(error) && world.is_calm(PATIENCE.as_millis() as u64 + 500) {
        world.violation(format_args!("{who}: a command did not complete in {PATIENCE:?}"));
    }
}

/// Reads everything that hosts may use and compares it with the model.
///
/// # Errors
/// The connection broke.
pub(crate) async fn verify(world: &World) -> Result<(), HostError> {
    let options = options("host0", 0, QueueOptions::default());
    let (_admin, cntlid) = Link::connect_admin(&options).await?;
    let (mut link, _) = Link::connect(&options, 1, cntlid).await?;
    let checks = Check::all(&world.model());
    for check in checks {
        let op = check.begin(&mut world.model());
        let done = link.execute(check.sqe, &[], check.bytes).await?;
        let result = check.end(&mut world.model(), op, &done);
        world.check(result);
    }
    Ok(())
}

struct Host<'a> {
    world: &'a World,
    number: usize,
    dice: &'a mut Dice,
    pending: Outstanding,
}

impl<'a> Host<'a> {
    fn new(world: &'a World, number: usize, dice: &'a mut Dice) -> Self {
        Host { world, number, dice, pending: Outstanding::default() }
    }

    fn is_greedy(&self) -> bool {
        self.world.plan.greedy && self.number == 0
    }

    /// Connects and works for a while, or until the connection breaks.
    async fn session(&mut self) -> Result<(), HostError> {
        let queue = QueueOptions {
            header_digest: self.dice.chance(30),
            data_digest: self.dice.chance(30),
            r2ts: 1 + self.dice.below(4) as u32,
            in_capsule: if self.dice.chance(50) { 8192 } else { 1024 },
            no_flow_control: self.dice.chance(50),
            ..QueueOptions::default()
        };
        let options = options(&format!("host{}", self.number), self.world.plan.kato, queue);
        let admin = HostOptions { queue: QueueOptions { entries: 32, ..queue }, ..options.clone() };
        let (mut admin, cntlid) = Link::connect_admin(&admin).await?;
        self.world.cntlids[self.number].store(cntlid, Ordering::Relaxed);
        let (mut link, _) = Link::connect(&options, 1, cntlid).await?;
        let mut kept = Instant::now();
        let end = Instant::now() + Duration::from_millis(50 + self.dice.below(400));
        let depth = if self.is_greedy() { 64 } else { self.world.plan.mix.depth as usize };
        while Instant::now() < end || !self.pending.is_empty() {
            let open = Instant::now() < end && !self.world.is_finishing();
            while open && self.pending.len() < depth {
                if !self.submit(&mut link) {
                    break;
                }
            }
            if self.pending.is_empty() {
                if !open {
                    break;
                }
                sleep(Duration::from_millis(2)).await;
                continue;
            }
            let done = link.complete().await?;
            self.completed(&done);
            if kept.elapsed().as_millis() > u128::from(self.world.plan.kato / 3) {
                kept = Instant::now();
                let sqe = Sqe { opcode: AdminOpcode::KEEP_ALIVE.0, ..Default::default() };
                admin.execute(sqe, &[], 0).await?;
            }
        }
        Ok(())
    }

    /// Submits a random command. Returns false if there is no namespace.
    fn submit(&mut self, link: &mut Link) -> bool {
        let mut model = self.world.model();
        let Some(number) = self.dice.pick(&model.open_spaces()) else { return false };
        let units = model.space(number).sectors() / SECTORS;
        let mix = self.world.plan.mix;
        // A greedy host has the upper half of all namespaces to itself.
        let (first, units) = match (self.world.plan.greedy, self.is_greedy()) {
            (false, _) => (0, units),
            (true, false) => (0, units / 2),
            (true, true) => (units / 2, units / 2),
        };
        if self.is_greedy() {
            let command = work::copy_onto_itself(&mut model, number, first * UNIT, units * UNIT);
            drop(model);
            self.send(link, command);
            return true;
        }
        let command = work::draw(&mut model, self.dice, &mix, number, units);
        drop(model);
        self.send(link, command);
        true
    }

    fn send(&mut self, link: &mut Link, command: Command) {
        self.world.commands.fetch_add(1, Ordering::Relaxed);
        let cid = link.submit(command.sqe, &command.send, command.receive);
        let (number, what) = (self.number, &command.pending);
        self.world.detail(format_args!("host {number}: {cid} is {what:?} {:?}", command.sqe));
        self.pending.insert(cid, command.pending);
    }

    fn completed(&mut self, done: &Completion) {
        let (number, cid) = (self.number, done.cid);
        self.world.detail(format_args!("host {number}: {cid} ends {:?}", done.status));
        let result = self.pending.completed(&mut self.world.model(), done);
        self.world.check(result);
    }

    /// Reports to the model that the completions of the outstanding commands will not arrive.
    fn give_up(&mut self) {
        self.pending.give_up(&mut self.world.model());
    }
}
