//! The reference: the values that reads may return, the namespaces that exist, and lower limits of the counters.
//!
//! The model sees what hosts see: when a command was submitted, when it completed, and how. It has no access to the
//! drive. Time is the order of these moments. A *value* stands for the 512 bytes of a sector; every command writes
//! values that no other command writes, so a value identifies its writer, and 0 is a sector of zeroes.
//!
//! A read may return what a write stored, unless another write certainly followed and certainly ended before the read
//! began. A write is certain if it completed with success. A write that failed, or whose completion never arrived, may
//! or may not have happened, until the server that received it is gone. After a power loss, only durable writes
//! overwrite others: those covered by a later successful Flush, and those with Force Unit Access.

use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a sector.
pub const SECTOR: usize = 512;

/// A moment, as the number of earlier moments.
type Moment = u64;
const NEVER: Moment = Moment::MAX;
/// Maximum number of possible values of a sector that a copy may read.
const MOST_COPIED: usize = 64;

/// A command that the model tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpId(u32);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With success.
    Success,
    /// With an error status.
    Failure,
    /// Its completion never arrived.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct Op {
    start: Moment,
    end: Moment,
    certain: bool,
    durable: bool,
    namespace: usize,
    /// Bytes that count as host writes.
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Write {
    value: u64,
    op: OpId,
}

/// A namespace, distinct from earlier ones with the same NSID.
#[derive(Clone, Debug)]
pub struct Space {
    /// NSID.
    pub nsid: u32,
    /// Bytes of a logical block.
    pub lba_bytes: u64,
    /// Whether it certainly exists.
    pub alive: bool,
    /// Whether it certainly does not exist.
    pub gone: bool,
    /// Whether its creation was reported, so that its contents are known.
    pub fresh: bool,
    /// Whether hosts may use it.
    pub open: bool,
    sectors: Vec<Vec<Write>>,
}

impl Space {
    /// Returns the number of sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors.len() as u64
    }
}

/// A namespace of a server after its start.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// NSID.
    pub nsid: u32,
    /// Bytes of a logical block.
    pub lba_bytes: u64,
    /// Its size.
    pub sectors: u64,
}

/// Counters that hosts have read, or that follow from what they know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Host bytes written over the life of the drive.
    pub host_bytes: u64,
    /// Host Read Commands.
    pub reads: u64,
    /// Host Write Commands.
    pub writes: u64,
}

/// A copy that may still be executed.
#[derive(Clone, Copy, Debug)]
struct Copying {
    op: OpId,
    namespace: usize,
    from: u64,
    to: u64,
    sectors: u64,
}

/// The reference model of a drive.
#[derive(Debug, Default)]
pub struct Model {
    now: Moment,
    ops: Vec<Op>,
    outstanding: BTreeSet<OpId>,
    /// Namespaces with commands whose completions never arrived, and that the server may still execute.
    unknown: BTreeSet<usize>,
    copies: Vec<Copying>,
    /// Certain writes that are not durable.
    volatile: BTreeSet<OpId>,
    spaces: Vec<Space>,
    /// The namespace of each serial number of values.
    owners: BTreeMap<u64, usize>,
    serial: u64,
    reported: Reported,
    /// Bytes of writes that were certainly counted, and of those that may have been.
    certain_bytes: u64,
    possible_bytes: u64,
    /// Whether the bounds of the counter hold: no power loss so far, which may lose counts.
    pub counts_bytes: bool,
    /// Number of power losses so far.
    pub losses: u64,
    /// The moment of the last one.
    lost: Moment,
}

impl Model {
    /// Creates the model of an empty drive.
    pub fn new() -> Self {
        Model { counts_bytes: true, ..Model::default() }
    }

    fn tick(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    fn op(&mut self, namespace: usize, bytes: u64) -> OpId {
        let start = self.tick();
        let id = OpId(self.ops.len() as u32);
        self.ops.push(Op { start, end: NEVER, certain: false, durable: false, namespace, bytes });
        self.outstanding.insert(id);
        self.possible_bytes += bytes;
        id
    }

    fn completed_op(&mut self, namespace: usize) -> OpId {
        let id = self.op(namespace, 0);
        self.outstanding.remove(&id);
        let now = self.now;
        let op = &mut self.ops[id.0 as usize];
        (op.end, op.durable) = (now, true);
        id
    }

    /// Adds a namespace of zeroes that may not exist yet, and returns its number.
    pub fn create(&mut self, nsid: u32, lba_bytes: u64, sectors: u64) -> usize {
        let number = self.spaces.len();
        let op = self.completed_op(number);
        self.spaces.push(Space {
            nsid,
            lba_bytes,
            alive: false,
            gone: false,
            fresh: false,
            open: false,
            sectors: vec![vec![Write { value: 0, op }]; sectors as usize],
        });
        number
    }

    /// Returns a namespace by number.
    pub fn space(&self, number: usize) -> &Space {
        &self.spaces[number]
    }

    /// Returns a namespace by number, mutably.
    pub fn space_mut(&mut self, number: usize) -> &mut Space {
        &mut self.spaces[number]
    }

    /// Returns the numbers of the namespaces that hosts may use.
    pub fn open_spaces(&self) -> Vec<usize> {
        self.numbers(|space| space.open)
    }

    /// Returns the numbers of all namespaces.
    pub fn all(&self) -> Vec<usize> {
        self.numbers(|_| true)
    }

    /// Returns the numbers of the namespaces that certainly exist.
    pub fn alive(&self) -> Vec<usize> {
        self.numbers(|space| space.alive && !space.gone)
    }

    fn numbers(&self, which: impl Fn(&Space) -> bool) -> Vec<usize> {
        (0..self.spaces.len()).filter(|at| which(&self.spaces[*at])).collect()
    }

    /// Returns whether the server may still execute a command for an NSID.
    pub fn is_busy(&self, nsid: u32) -> bool {
        let of_op = |op: &OpId| self.ops[op.0 as usize].namespace;
        let mut busy = self.outstanding.iter().map(of_op).chain(self.unknown.iter().copied());
        busy.any(|number| self.spaces[number].nsid == nsid)
    }

    /// Returns the first value of a command that writes `sectors` sectors of a namespace; the others follow it.
    pub fn values(&mut self, number: usize) -> u64 {
        self.serial += 1;
        self.owners.insert(self.serial, number);
        self.serial << 16
    }

    /// Begins a command that stores values, starting at a sector.
    pub fn begin_write(&mut self, number: usize, from: u64, values: &[u64], bytes: u64) -> OpId {
        let op = self.op(number, bytes);
        for (at, value) in values.iter().enumerate() {
            self.store(number, from + at as u64, Write { value: *value, op });
        }
        op
    }

    /// Begins a command that copies sectors within a namespace.
    pub fn begin_copy(&mut self, number: usize, from: u64, to: u64, sectors: u64) -> OpId {
        let op = self.op(number, sectors * SECTOR as u64);
        let start = self.now;
        for at in 0..sectors {
            for value in self.candidates(number, from + at, start) {
                self.store(number, to + at, Write { value, op });
            }
        }
        self.copies.push(Copying { op, namespace: number, from, to, sectors });
        op
    }

    /// Returns whether the model can track a copy. It must not touch sectors of another copy, because the model would
    /// have to track every order of the two. And its source may have only few possible values: while a drive refuses
    /// all writes, each copy adds the possible values of its source to those of its target, which then grow
    /// exponentially.
    pub fn can_copy(&self, number: usize, from: u64, to: u64, sectors: u64) -> bool {
        let apart = |a: u64, b: u64, length: u64| a + sectors <= b || b + length <= a;
        let source = &self.spaces[number].sectors[from as usize..(from + sectors) as usize];
        apart(from, to, sectors)
            && source.iter().all(|writes| writes.len() <= MOST_COPIED)
            && self.copies.iter().filter(|copy| copy.namespace == number).all(|copy| {
                [from, to].iter().all(|at| {
                    apart(*at, copy.from, copy.sectors) && apart(*at, copy.to, copy.sectors)
                })
            })
    }

    /// Begins a command that stores nothing.
    pub fn begin(&mut self, number: usize) -> OpId {
        self.op(number, 0)
    }

    fn store(&mut self, number: usize, sector: u64, write: Write) {
        let earliest = self.earliest();
        let mut writes = std::mem::take(&mut self.spaces[number].sectors[sector as usize]);
        if writes.len() % 16 == 15 {
            // A power loss brings back values whose overwrite is not durable.
            let overwritten = self.overwritten(&writes, earliest, true);
            writes.retain(|w| self.ops[w.op.0 as usize].end >= overwritten);
        }
        let known = writes.iter().any(|w| w.op == write.op && w.value == write.value);
        if !known {
            writes.push(write);
        }
        self.spaces[number].sectors[sector as usize] = writes;
        if known {
            return;
        }
        // A copy in progress may read the new value or the old one.
        for at in 0..self.copies.len() {
            let copy = self.copies[at];
            let taken = copy.namespace == number && copy.op != write.op;
            if taken && (copy.from..copy.from + copy.sectors).contains(&sector) {
                let to = sector - copy.from + copy.to;
                self.store(number, to, Write { value: write.value, op: copy.op });
            }
        }
    }

    fn earliest(&self) -> Moment {
        let starts = self.outstanding.iter().map(|op| self.ops[op.0 as usize].start);
        starts.min().unwrap_or(self.now)
    }

    /// Returns the moment before which overwritten writes ended: the start of the last write that is certain, durable
    /// if required, and ended before a moment.
    fn overwritten(&self, writes: &[Write], before: Moment, durable: bool) -> Moment {
        let ops = writes.iter().map(|w| &self.ops[w.op.0 as usize]);
        let later = ops.filter(|op| op.certain && (op.durable || !durable) && op.end < before);
        later.map(|op| op.start).max().unwrap_or(0)
    }

    /// Returns the values that a read that began at `start` may return.
    fn candidates(&self, number: usize, sector: u64, start: Moment) -> Vec<u64> {
        let writes = &self.spaces[number].sectors[sector as usize];
        let overwritten = self.overwritten(writes, start, false);
        let kept = writes.iter().filter(|w| self.ops[w.op.0 as usize].end >= overwritten);
        let mut values: Vec<u64> = kept.map(|w| w.value).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Ends a command.
    pub fn end(&mut self, id: OpId, outcome: Outcome, durable: bool) {
        let now = self.tick();
        self.outstanding.remove(&id);
        if outcome != Outcome::Unknown {
            self.copies.retain(|copy| copy.op != id);
        }
        let op = &mut self.ops[id.0 as usize];
        match outcome {
            Outcome::Success => (op.end, op.certain, op.durable) = (now, true, durable),
            Outcome::Failure => op.end = now,
            // The server may still execute it.
            Outcome::Unknown => {
                self.unknown.insert(op.namespace);
            }
        }
        let op = *op;
        if op.certain {
            // A deleted namespace may take the counts of its last commands with it.
            if self.spaces[op.namespace].alive {
                self.certain_bytes += op.bytes;
            }
            if !durable {
                self.volatile.insert(id);
            }
        }
    }

    /// Ends a successful Flush: everything that completed before it began is durable.
    pub fn flushed(&mut self, id: OpId) {
        let Op { start, namespace, .. } = self.ops[id.0 as usize];
        let ops = &mut self.ops;
        self.volatile.retain(|volatile| {
            let op = &mut ops[volatile.0 as usize];
            let covered = op.namespace == namespace && op.end < start;
            op.durable |= covered;
            !covered
        });
        self.end(id, Outcome::Success, true);
    }

    /// Ends a read that returned these values, starting at a sector.
    ///
    /// # Errors
    /// A value is impossible.
    pub fn check_read(&mut self, id: OpId, from: u64, values: &[u64]) -> Result<(), String> {
        let Op { start, namespace, .. } = self.ops[id.0 as usize];
        let space = &self.spaces[namespace];
        let (nsid, open) = (space.nsid, space.open);
        for (at, value) in values.iter().enumerate() {
            let sector = from + at as u64;
            let owner = self.owners.get(&(value >> 16)).copied();
            if *value != 0 && owner != Some(namespace) {
                return Err(format!(
                    "a read of namespace {nsid} (instance {namespace}), sector {sector}, returned the value \
                     {value:#x} of another namespace (instance {owner:?})"
                ));
            }
            // Data in flight during a power loss may be older than everything that remains.
            if start < self.lost {
                continue;
            }
            let candidates = self.candidates(namespace, sector, start);
            // In a namespace that is being deleted, zeroes are right too.
            if !candidates.contains(value) && (open || *value != 0) {
                return Err(format!(
                    "a read of namespace {nsid} (instance {namespace}), sector {sector}, returned {value:#x}; \
                     it may hold {candidates:#x?}; writes: {:?}",
                    self.history(namespace, sector)
                ));
            }
        }
        self.end(id, Outcome::Success, true);
        Ok(())
    }

    fn history(&self, number: usize, sector: u64) -> Vec<(String, Op)> {
        let writes = &self.spaces[number].sectors[sector as usize];
        writes.iter().map(|w| (format!("{:#x}", w.value), self.ops[w.op.0 as usize])).collect()
    }

    /// Starts deleting a namespace: hosts must not use it any more, and it may be gone.
    pub fn deleting(&mut self, number: usize) {
        let space = &mut self.spaces[number];
        (space.open, space.alive, space.fresh) = (false, false, false);
    }

    /// Ends everything that was sent to the server, because it was killed or stopped. Its completions may still reach
    /// their hosts.
    pub fn server_gone(&mut self, power_lost: bool) {
        let now = self.tick();
        self.unknown.clear();
        self.copies.clear();
        for op in &mut self.ops {
            op.end = op.end.min(now);
        }
        if !power_lost {
            return;
        }
        self.losses += 1;
        self.lost = now;
        self.counts_bytes = false;
        self.reported = Reported::default();
        for number in 0..self.spaces.len() {
            if self.spaces[number].gone {
                continue;
            }
            let op = self.completed_op(number);
            for at in 0..self.spaces[number].sectors.len() {
                let writes = std::mem::take(&mut self.spaces[number].sectors[at]);
                let overwritten = self.overwritten(&writes, NEVER, true);
                let kept = writes.iter().filter(|w| self.ops[w.op.0 as usize].end >= overwritten);
                let mut values: Vec<u64> = kept.map(|w| w.value).collect();
                values.sort_unstable();
                values.dedup();
                let kept = values.into_iter().map(|value| Write { value, op });
                self.spaces[number].sectors[at] = kept.collect();
            }
        }
        self.volatile.clear();
    }

    /// Compares the namespaces of a starting server with the expected ones. Those of the first server are open to
    /// hosts. Returns the differences.
    pub fn restarted(&mut self, found: &[Found]) -> Vec<String> {
        let first = self.spaces.is_empty();
        for space in self.spaces.iter_mut().filter(|space| !space.alive && !space.gone) {
            // Its deletion was not reported. Nobody uses it any more.
            space.alive = found.iter().any(|found| found.nsid == space.nsid);
            space.gone = !space.alive;
        }
        let mut wrong = Vec::new();
        for number in self.alive() {
            let (nsid, sectors) = (self.spaces[number].nsid, self.spaces[number].sectors());
            let found = found.iter().find(|found| found.nsid == nsid);
            if found.is_none_or(|found| found.sectors != sectors) {
                let found = found.map(|found| found.sectors);
                wrong.push(format!(
                    "namespace {nsid} is there with {found:?} sectors, not with {sectors}"
                ));
            }
        }
        for found in found {
            if !self.alive().iter().any(|number| self.spaces[*number].nsid == found.nsid) {
                // A namespace of a new drive, or one whose creation was not reported.
                let number = self.create(found.nsid, found.lba_bytes, found.sectors);
                let space = &mut self.spaces[number];
                (space.alive, space.open) = (true, first);
            }
        }
        wrong
    }

    /// Returns the bytes that hosts certainly wrote so far, a lower limit of counters read from now on.
    pub fn written(&self) -> u64 {
        self.certain_bytes
    }

    /// Compares the counters of the drive with the values that hosts have read before, and remembers them. `written` is
    /// [`Self::written`] at the time of the request.
    ///
    /// # Errors
    /// A counter decreased, or does not match the commands.
    pub fn check_counters(&mut self, found: Reported, written: u64) -> Result<(), String> {
        let before = self.reported;
        let pairs = [
            ("host bytes written", before.host_bytes, found.host_bytes),
            ("read commands", before.reads, found.reads),
            ("write commands", before.writes, found.writes),
        ];
        for (name, before, now) in pairs {
            if now < before {
                return Err(format!("the counter of {name} went back from {before} to {now}"));
            }
        }
        let bounds = written..=self.possible_bytes;
        if self.counts_bytes && !bounds.contains(&found.host_bytes) {
            return Err(format!(
                "hosts wrote {bounds:?} bytes, the drive counts {}",
                found.host_bytes
            ));
        }
        self.reported = found;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
