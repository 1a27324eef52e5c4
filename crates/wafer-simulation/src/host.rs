//! A host: connects, works at random, checks what it reads, and connects again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wafer_host::{Completion, HostError, HostOptions, Io, QueueOptions};
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{AdminOpcode, CopyRange, DsmRange, RwCdw12, Sqe};

use crate::link::{Link, PATIENCE, is_fault, is_timeout};
use crate::model::{Model, OpId, Outcome, SECTOR};
use crate::plan::Dice;
use crate::server::NQN;
use crate::world::World;

/// Bytes of the unit in which hosts address: the mapping unit of the device.
const UNIT: u64 = 4096;
const SECTORS: u64 = UNIT / SECTOR as u64;

/// What is to be done when a command completes.
struct Pending {
    op: OpId,
    kind: Kind,
}

/// A command with its data, the bytes that it returns, and what is to be done then.
type Command = (Sqe, Vec<u8>, usize, Pending);

enum Kind {
    Write { durable: bool },
    Read { from: u64 },
    Flush,
    Other,
}

/// Returns the options of a host.
pub(crate) fn options(name: &str, kato: u32, queue: QueueOptions) -> HostOptions {
    HostOptions { kato, queue, ..HostOptions::new(NQN, name) }
}

/// Works until the simulation finishes.
///
/// # Errors
/// None: what is wrong is noted as a violation.
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

/// Notes an end of a connection that is no consequence of what the simulation does.
pub(crate) fn judge(world: &World, error: &HostError, who: &str) {
    if is_fault(error) {
        world.violation(format_args!("{who}: {error}"));
    }
    if is_timeout(error) && world.is_calm(PATIENCE.as_millis() as u64 + 500) {
        world.violation(format_args!("{who}: a command did not complete in {PATIENCE:?}"));
    }
}

/// Reads all that hosts may use, and compares it with the model.
///
/// # Errors
/// The connection broke.
pub(crate) async fn verify(world: &World) -> Result<(), HostError> {
    let options = options("host0", 0, QueueOptions::default());
    let (_admin, cntlid) = Link::connect_admin(&options).await?;
    let (mut link, _) = Link::connect(&options, 1, cntlid).await?;
    let spaces = world.model().open_spaces();
    for number in spaces {
        let (nsid, lba, sectors) = {
            let model = world.model();
            let space = model.space(number);
            (space.nsid, space.lba_bytes, space.sectors())
        };
        let step = 64 * SECTORS;
        for from in (0..sectors).step_by(step as usize) {
            let bytes = step.min(sectors - from) * SECTOR as u64;
            let sqe = Io { nsid }.read(from * SECTOR as u64 / lba, (bytes / lba) as u32);
            let op = world.model().begin(number);
            let done = link.execute(sqe, &[], bytes as usize).await?;
            if done.status.is_success() {
                let result =
                    decode(&done.data).and_then(|v| world.model().check_read(op, from, &v));
                world.check(result);
            } else {
                world.violation(format_args!(
                    "the last read of namespace {nsid}: {:?}",
                    done.status
                ));
            }
        }
    }
    Ok(())
}

struct Host<'a> {
    world: &'a World,
    number: usize,
    dice: &'a mut Dice,
    pending: BTreeMap<u16, Pending>,
}

impl<'a> Host<'a> {
    fn new(world: &'a World, number: usize, dice: &'a mut Dice) -> Self {
        Host { world, number, dice, pending: BTreeMap::new() }
    }

    fn is_greedy(&self) -> bool {
        self.world.plan.greedy && self.number == 0
    }

    /// Connects and works until the connection breaks, or for a while.
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
        let (nsid, lba_bytes, units) = {
            let space = model.space(number);
            (space.nsid, space.lba_bytes, space.sectors() / SECTORS)
        };
        let mix = self.world.plan.mix;
        // A greedy host has the upper half of all namespaces for itself.
        let (first, units) = match (self.world.plan.greedy, self.is_greedy()) {
            (false, _) => (0, units),
            (true, false) => (0, units / 2),
            (true, true) => (units / 2, units / 2),
        };
        if self.is_greedy() {
            let pending = self.greedy(&mut model, number, first * UNIT, units * UNIT);
            drop(model);
            self.send(link, pending);
            return true;
        }
        let count = (1 + self.dice.below(mix.units)).min(units);
        let unit = self.dice.below(units - count + 1);
        let (from, sectors, bytes) = (unit * SECTORS, count * SECTORS, count * UNIT);
        let io = Io { nsid };
        let (lba, blocks) = (unit * UNIT / lba_bytes, (bytes / lba_bytes) as u32);
        let zeroes = vec![0; sectors as usize];
        let to = self.dice.below(units - count + 1) * SECTORS;
        let choice = match self.dice.weighted(&mix.commands) {
            4 if !model.can_copy(number, from, to, sectors) => 1,
            choice => choice,
        };
        let durable = self.dice.chance(mix.fua);
        let (sqe, send, receive, pending) = match choice {
            0 => {
                let first = model.values(number);
                let values: Vec<u64> = (first..first + sectors).collect();
                let op = model.begin_write(number, from, &values, bytes);
                let pid = if self.dice.chance(50) { Some(0) } else { None };
                let sqe = with_fua(io.write(lba, blocks, pid), durable);
                (sqe, encode(&values), 0, Pending { op, kind: Kind::Write { durable } })
            }
            1 => {
                let op = model.begin(number);
                (
                    io.read(lba, blocks),
                    Vec::new(),
                    bytes as usize,
                    Pending { op, kind: Kind::Read { from } },
                )
            }
            2 => {
                let deallocate = self.dice.chance(50);
                let counted = if deallocate { 0 } else { bytes };
                let op = model.begin_write(number, from, &zeroes, counted);
                let sqe = with_fua(io.write_zeroes(lba, blocks, deallocate), durable);
                (sqe, Vec::new(), 0, Pending { op, kind: Kind::Write { durable } })
            }
            3 => {
                let op = model.begin_write(number, from, &zeroes, 0);
                let range =
                    DsmRange { slba: lba.into(), length: blocks.into(), ..Default::default() };
                let kind = Kind::Write { durable: false };
                (io.deallocate(1), range.as_bytes().to_vec(), 0, Pending { op, kind })
            }
            4 => {
                let range = CopyRange {
                    slba: lba.into(),
                    nlb_z: ((blocks - 1) as u16).into(),
                    ..Default::default()
                };
                let op = model.begin_copy(number, from, to, sectors);
                let sqe = io.copy(to * SECTOR as u64 / lba_bytes, 1, None);
                let kind = Kind::Write { durable: false };
                (sqe, range.as_bytes().to_vec(), 0, Pending { op, kind })
            }
            5 => {
                let op = model.begin(number);
                (io.flush(), Vec::new(), 0, Pending { op, kind: Kind::Flush })
            }
            6 => {
                let op = model.begin(number);
                (io.handle_update(1), vec![0; 2], 0, Pending { op, kind: Kind::Other })
            }
            _ => {
                let op = model.begin(number);
                (io.verify(lba, blocks), Vec::new(), 0, Pending { op, kind: Kind::Other })
            }
        };
        drop(model);
        self.send(link, (sqe, send, receive, pending));
        true
    }

    /// Makes a long copy of zeroes onto themselves.
    fn greedy(&self, model: &mut Model, number: usize, from: u64, bytes: u64) -> Command {
        let (nsid, lba_bytes) = (model.space(number).nsid, model.space(number).lba_bytes);
        let op = model.begin_write(number, 0, &[], bytes);
        let range = CopyRange {
            slba: (from / lba_bytes).into(),
            nlb_z: ((bytes / lba_bytes - 1) as u16).into(),
            ..Default::default()
        };
        let pending = Pending { op, kind: Kind::Other };
        (Io { nsid }.copy(from / lba_bytes, 1, None), range.as_bytes().to_vec(), 0, pending)
    }

    fn send(&mut self, link: &mut Link, (sqe, data, receive, pending): Command) {
        self.world.commands.fetch_add(1, Ordering::Relaxed);
        let cid = link.submit(sqe, &data, receive);
        self.pending.insert(cid, pending);
    }

    fn completed(&mut self, done: &Completion) {
        let Some(Pending { op, kind }) = self.pending.remove(&done.cid) else { return };
        let mut model = self.world.model();
        if !done.status.is_success() {
            return model.end(op, Outcome::Failure, false);
        }
        match kind {
            Kind::Write { durable } => model.end(op, Outcome::Success, durable),
            Kind::Flush => model.flushed(op),
            Kind::Other => model.end(op, Outcome::Success, false),
            Kind::Read { from } => {
                let result =
                    decode(&done.data).and_then(|values| model.check_read(op, from, &values));
                drop(model);
                self.world.check(result);
            }
        }
    }

    /// Nobody will hear of the commands that are outstanding.
    fn give_up(&mut self) {
        let mut model = self.world.model();
        for (_, pending) in std::mem::take(&mut self.pending) {
            model.end(pending.op, Outcome::Unknown, false);
        }
    }
}

fn with_fua(mut sqe: Sqe, fua: bool) -> Sqe {
    sqe.cdw12 = RwCdw12::from(sqe.cdw12.get()).with_fua(fua).into_bits().into();
    sqe
}

/// Returns sectors that hold values.
fn encode(values: &[u64]) -> Vec<u8> {
    let mut data = vec![0; values.len() * SECTOR];
    for (sector, value) in data.chunks_exact_mut(SECTOR).zip(values) {
        for word in sector.chunks_exact_mut(8) {
            word.copy_from_slice(&value.to_le_bytes());
        }
    }
    data
}

/// Returns the values that sectors hold.
///
/// # Errors
/// A sector with parts of several values.
fn decode(data: &[u8]) -> Result<Vec<u64>, String> {
    data.chunks(SECTOR)
        .map(|sector| {
            let (first, rest) = sector.split_at(8);
            if rest.chunks(8).any(|word| word != first) {
                return Err("a read returned a torn sector".to_owned());
            }
            Ok(u64::from_le_bytes(first.try_into().unwrap_or_default()))
        })
        .collect()
}
