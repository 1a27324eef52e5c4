//! The requests of hosts and operator: random commands, and the meaning of their completions for the model.
//!
//! Shared by the simulation, which runs on a simulated network, and the soak, which runs on a real one.

use std::collections::BTreeMap;

use wafer_host::{Admin, Completion, Io};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::{
    AdminOpcode, CopyRange, DsmRange, FdpStatistics, Lid, NamespaceCdw10, NamespaceCreate, RwCdw12,
    SmartLog, Sqe,
};

use crate::model::{Model, OpId, Outcome, Reported, SECTOR};
use crate::plan::{Dice, Mix};

/// Bytes of the unit that hosts address: the mapping unit of the device.
pub const UNIT: u64 = 4096;
/// Sectors per unit.
pub const SECTORS: u64 = UNIT / SECTOR as u64;

/// A command with its data, the number of bytes that it returns, and the action on its completion.
pub struct Command {
    /// The submission queue entry.
    pub sqe: Sqe,
    /// Its data.
    pub send: Vec<u8>,
    /// Maximum number of bytes that it returns.
    pub receive: usize,
    /// The action on its completion.
    pub pending: Pending,
}

/// The action when a command completes.
#[derive(Debug)]
pub struct Pending {
    op: OpId,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Write { durable: bool },
    Read { from: u64 },
    Flush,
    Other,
}

/// The outstanding commands of a host.
#[derive(Default)]
pub struct Outstanding(BTreeMap<u16, Pending>);

impl Outstanding {
    /// Returns their number.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a command by its identifier.
    pub fn insert(&mut self, cid: u16, pending: Pending) {
        self.0.insert(cid, pending);
    }

    /// Reports a completion to the model.
    ///
    /// # Errors
    /// A read returned an impossible value.
    pub fn completed(&mut self, model: &mut Model, done: &Completion) -> Result<(), String> {
        let Some(Pending { op, kind }) = self.0.remove(&done.cid) else { return Ok(()) };
        if !done.status.is_success() {
            model.end(op, Outcome::Failure, false);
            return Ok(());
        }
        match kind {
            Kind::Write { durable } => model.end(op, Outcome::Success, durable),
            Kind::Flush => model.flushed(op),
            Kind::Other => model.end(op, Outcome::Success, false),
            Kind::Read { from } => {
                return decode(&done.data).and_then(|values| model.check_read(op, from, &values));
            }
        }
        Ok(())
    }

    /// Reports to the model that the completions of the outstanding commands will not arrive.
    pub fn give_up(&mut self, model: &mut Model) {
        for (_, pending) in std::mem::take(&mut self.0) {
            model.end(pending.op, Outcome::Unknown, false);
        }
    }
}

/// Draws a random command for the first `units` units of a namespace, and reports its start to the model.
pub fn draw(model: &mut Model, dice: &mut Dice, mix: &Mix, number: usize, units: u64) -> Command {
    let (nsid, lba_bytes) = (model.space(number).nsid, model.space(number).lba_bytes);
    let count = (1 + dice.below(mix.units)).min(units);
    let unit = dice.below(units - count + 1);
    let (from, sectors, bytes) = (unit * SECTORS, count * SECTORS, count * UNIT);
    let io = Io { nsid };
    let (lba, blocks) = (unit * UNIT / lba_bytes, (bytes / lba_bytes) as u32);
    let zeroes = vec![0; sectors as usize];
    let to = dice.below(units - count + 1) * SECTORS;
    let choice = match dice.weighted(&mix.commands) {
        4 if !model.can_copy(number, from, to, sectors) => 1,
        choice => choice,
    };
    let durable = dice.chance(mix.fua);
    let (sqe, send, receive, pending) = match choice {
        0 => {
            let first = model.values(number);
            let values: Vec<u64> = (first..first + sectors).collect();
            let op = model.begin_write(number, from, &values, bytes);
            let pid = if dice.chance(50) { Some(0) } else { None };
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
            let deallocate = dice.chance(50);
            let counted = if deallocate { 0 } else { bytes };
            let op = model.begin_write(number, from, &zeroes, counted);
            let sqe = with_fua(io.write_zeroes(lba, blocks, deallocate), durable);
            (sqe, Vec::new(), 0, Pending { op, kind: Kind::Write { durable } })
        }
        3 => {
            let op = model.begin_write(number, from, &zeroes, 0);
            let range = DsmRange { slba: lba.into(), length: blocks.into(), ..Default::default() };
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
    Command { sqe, send, receive, pending }
}

/// Creates a long copy of zeroes onto themselves.
pub fn copy_onto_itself(model: &mut Model, number: usize, from: u64, bytes: u64) -> Command {
    let (nsid, lba_bytes) = (model.space(number).nsid, model.space(number).lba_bytes);
    let op = model.begin_write(number, 0, &[], bytes);
    let range = CopyRange {
        slba: (from / lba_bytes).into(),
        nlb_z: ((bytes / lba_bytes - 1) as u16).into(),
        ..Default::default()
    };
    Command {
        sqe: Io { nsid }.copy(from / lba_bytes, 1, None),
        send: range.as_bytes().to_vec(),
        receive: 0,
        pending: Pending { op, kind: Kind::Other },
    }
}

/// A read of part of a namespace, for comparing all of it with the model.
pub struct Check {
    number: usize,
    from: u64,
    /// The submission queue entry.
    pub sqe: Sqe,
    /// Number of bytes that it returns.
    pub bytes: usize,
}

impl Check {
    /// Returns reads that cover everything that hosts may use.
    pub fn all(model: &Model) -> Vec<Check> {
        let mut checks = Vec::new();
        for number in model.open_spaces() {
            let space = model.space(number);
            let (lba, sectors) = (space.lba_bytes, space.sectors());
            let io = Io { nsid: space.nsid };
            let step = 64 * SECTORS;
            for from in (0..sectors).step_by(step as usize) {
                let bytes = step.min(sectors - from) * SECTOR as u64;
                let sqe = io.read(from * SECTOR as u64 / lba, (bytes / lba) as u32);
                checks.push(Check { number, from, sqe, bytes: bytes as usize });
            }
        }
        checks
    }

    /// Returns whether hosts may still use the namespace.
    pub fn is_open(&self, model: &Model) -> bool {
        model.space(self.number).open
    }

    /// Reports the start of the read to the model.
    pub fn begin(&self, model: &mut Model) -> OpId {
        model.begin(self.number)
    }

    /// Compares the data of the read.
    ///
    /// # Errors
    /// The read failed, or returned an impossible value.
    pub fn end(&self, model: &mut Model, op: OpId, done: &Completion) -> Result<(), String> {
        if !done.status.is_success() {
            model.end(op, Outcome::Failure, false);
            let nsid = model.space(self.number).nsid;
            return Err(format!("the last read of namespace {nsid}: {:?}", done.status));
        }
        decode(&done.data).and_then(|values| model.check_read(op, self.from, &values))
    }
}

/// Returns the commands that read the counters: SMART, then the FDP statistics.
pub fn read_counters() -> [(Sqe, usize); 2] {
    [(Admin::log(Lid::SMART, 0, 0, 512), 512), (Admin::log(Lid::FDP_STATISTICS, 0, 1, 64), 64)]
}

/// Returns the counters in those logs, or `None` if a log is truncated.
pub fn reported(smart: &[u8], fdp: &[u8]) -> Option<Reported> {
    let smart = SmartLog::read_from_bytes(smart).ok()?;
    let fdp = FdpStatistics::read_from_bytes(fdp).ok()?;
    Some(Reported {
        host_bytes: fdp.hbmw.get() as u64,
        reads: smart.host_reads.get() as u64,
        writes: smart.host_writes.get() as u64,
    })
}

/// A namespace to create.
pub struct Creation {
    /// The submission queue entry.
    pub sqe: Sqe,
    /// The data of the command.
    pub data: NamespaceCreate,
    lba_bytes: u64,
    sectors: u64,
}

impl Creation {
    /// Draws the size and the logical block size of a namespace.
    pub fn draw(dice: &mut Dice) -> Self {
        let pages = 64 + dice.below(3) * 64;
        let lba_shift = if dice.chance(50) { 9 } else { 12 };
        let blocks = (pages * UNIT) >> lba_shift;
        let data = NamespaceCreate {
            nsze: blocks.into(),
            ncap: blocks.into(),
            flbas: u8::from(lba_shift == 12),
            nmic: 1,
            ..Default::default()
        };
        let sqe = Sqe { opcode: AdminOpcode::NAMESPACE_MANAGEMENT.0, ..Default::default() };
        Creation { sqe, data, lba_bytes: 1 << lba_shift, sectors: pages * SECTORS }
    }

    /// Reports to the model that the namespace was created.
    pub fn done(&self, model: &mut Model, nsid: u32) {
        created(model, nsid, self.lba_bytes, self.sectors);
    }
}

/// Reports a created namespace to the model.
pub fn created(model: &mut Model, nsid: u32, lba_bytes: u64, sectors: u64) {
    let number = model.create(nsid, lba_bytes, sectors);
    let space = model.space_mut(number);
    (space.alive, space.fresh) = (true, true);
}

/// Returns the command that deletes a namespace.
pub fn delete(nsid: u32) -> Sqe {
    Sqe {
        opcode: AdminOpcode::NAMESPACE_MANAGEMENT.0,
        nsid: nsid.into(),
        cdw10: NamespaceCdw10::new().with_select(1).into_bits().into(),
        ..Default::default()
    }
}

fn with_fua(mut sqe: Sqe, fua: bool) -> Sqe {
    sqe.cdw12 = RwCdw12::from(sqe.cdw12.get()).with_fua(fua).into_bits().into();
    sqe
}

/// Returns sectors filled with values.
fn encode(values: &[u64]) -> Vec<u8> {
    let mut data = vec![0; values.len() * SECTOR];
    for (sector, value) in data.chunks_exact_mut(SECTOR).zip(values) {
        for word in sector.chunks_exact_mut(8) {
            word.copy_from_slice(&value.to_le_bytes());
        }
    }
    data
}

/// Returns the values in sectors.
///
/// # Errors
/// A sector contains several values.
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
