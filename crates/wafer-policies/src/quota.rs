//! Quotas: the spare space is shared among handles, and greedy chooses within the handle that most exceeds its share.
//!
//! Greedy over all handles equalises the valid share of their victims, so that spare space follows size and not
//! need (closed form T9; WARP, FAST '26, calls the effect "noisy RUH"). A share in proportion to sqrt(writes x size) is
//! close to optimal for streams that are uniform inside (closed form T8; after Stoica and Ailamaki, VLDB '13). Data
//! mixed by relocation counts as a separate stream, written by relocation.

use super::interface::{Learned, PolicyInfo, RuView, VictimPolicy};
use wafer_interface::{Owner, RuId};

pub(super) const FIXED: PolicyInfo = PolicyInfo::by_isolation(
    "quota-fixed",
    "equal shares of spare space for handles, greedy within",
    |_| Ok(Quota::by(Stream::spare)),
);

pub(super) const PROPORTIONAL: PolicyInfo = PolicyInfo::by_isolation(
    "quota-proportional",
    "spare space in proportion to each handle's valid pages, greedy within",
    |_| Ok(Quota::by(|stream, pages| stream.spare(pages) / (stream.valid as f64).max(1.0))),
);

pub(super) const SQRT: PolicyInfo = PolicyInfo::by_isolation(
    "quota-sqrt",
    "spare space in proportion to each handle's sqrt(writes * valid pages), greedy within",
    |_| {
        Ok(Quota::by(|stream, pages| {
            let need = stream.writes.max(1e-3) * stream.valid as f64;
            stream.spare(pages) / need.sqrt().max(1.0)
        }))
    },
);

pub(super) const MARGINAL: PolicyInfo = PolicyInfo::by_isolation(
    "quota-marginal",
    "the handle that currently gains least from spare space, greedy within",
    |_| Ok(Quota::by(|stream, pages| -stream.benefit(pages))),
);

/// Device writes after which the weight of counted writes halves.
const HALF_LIFE: f64 = 1.0;

/// The state of one stream: a handle, or relocated data of several.
#[derive(Clone, Copy, Default)]
struct Stream {
    /// Reclaim units filled by hosts, decayed; for mixed data, those filled by relocation.
    writes: f64,
    /// Candidates of the stream.
    units: u32,
    valid: u64,
    /// The candidate with the fewest valid pages.
    least: Option<(u32, RuId)>,
}

impl Stream {
    /// Returns the pages of the stream that are not valid.
    fn spare(&self, pages: f64) -> f64 {
        f64::from(self.units) * pages - self.valid as f64
    }

    /// Returns the relocations that one more page of spare space saves the stream, per host page of the
    /// device: at its victim's valid share v, with w writes and s spare pages, w * v / (1 - v) / s, which
    /// is the slope of T3 at the share that was measured.
    fn benefit(&self, pages: f64) -> f64 {
        let Some((least, _)) = self.least else { return f64::INFINITY };
        let v = (f64::from(least) / pages).min(0.999);
        self.writes * v / (1.0 - v) / self.spare(pages).max(1.0)
    }
}

struct Quota {
    /// How far a stream exceeds its share, relative to it, given the pages per reclaim unit; the largest
    /// value gives the victim. For a stream without writes or valid pages, any space is too much.
    excess: fn(&Stream, f64) -> f64,
    streams: Vec<Stream>,
    /// Position in the order of closing, plus one, up to which closed reclaim units were counted.
    counted: u64,
    at: u64,
}

impl Quota {
    fn by(excess: fn(&Stream, f64) -> f64) -> Box<dyn VictimPolicy> {
        Box::new(Quota { excess, streams: Vec::new(), counted: 0, at: 0 })
    }

    fn observe(&mut self, rus: &RuView<'_>) {
        let device = rus.range.len() as f64 * f64::from(rus.pages_per_ru);
        let fade = (-((rus.now - self.at) as f64) / device / HALF_LIFE).exp2();
        self.at = rus.now;
        for stream in &mut self.streams {
            *stream = Stream { writes: stream.writes * fade, ..Stream::default() };
        }
        let mut last = self.counted;
        for (ru, valid) in rus.candidates() {
            let owner = rus.owner(ru);
            let number = match owner {
                Owner::Gc => 0,
                Owner::Handle(handle) => handle.index() + 1,
            };
            if self.streams.len() <= number {
                self.streams.resize(number + 1, Stream::default());
            }
            let stream = &mut self.streams[number];
            let order = rus.closed_order(ru) + 1;
            if order > self.counted && (owner == Owner::Gc || rus.generation(ru) == 0) {
                stream.writes += 1.0;
            }
            last = last.max(order);
            stream.units += 1;
            stream.valid += u64::from(valid);
            if stream.least.is_none_or(|(least, _)| valid < least) {
                stream.least = Some((valid, ru));
            }
        }
        self.counted = last;
    }
}

impl VictimPolicy for Quota {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        self.observe(rus);
        let pages = rus.pages_per_ru;
        let mut best: Option<(f64, RuId)> = None;
        for stream in &self.streams {
            let Some((least, ru)) = stream.least else { continue };
            if least == 0 {
                return Some(ru);
            }
            // A stream whose reclaim units are all full has nothing to give.
            if least == pages {
                continue;
            }
            let excess = (self.excess)(stream, f64::from(pages));
            if best.is_none_or(|(most, _)| excess > most) {
                best = Some((excess, ru));
            }
        }
        best.map(|(_, ru)| ru)
    }

    fn save(&self) -> Option<Learned> {
        let writes: Vec<f64> = self.streams.iter().map(|stream| stream.writes).collect();
        Some(Learned::pack(&(writes, self.counted, self.at)))
    }

    fn load(&mut self, learned: &Learned, rus: &RuView<'_>) -> Result<(), String> {
        let (writes, counted, at): (Vec<f64>, u64, u64) = learned.unpack()?;
        if writes.len() > 1 + rus.handles || at > rus.now {
            return Err(format!("{} streams, {at} of {} pages", writes.len(), rus.now));
        }
        let stream = |writes| Stream { writes, ..Stream::default() };
        self.streams = writes.into_iter().map(stream).collect();
        (self.counted, self.at) = (counted, at);
        Ok(())
    }
}
