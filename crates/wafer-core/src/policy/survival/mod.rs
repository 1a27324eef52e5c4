//! What the index policies know: how pages of each class die with age, from valid counts alone.
//!
//! A class is a handle and a generation, or the mixed data of several handles. Each time a policy looks
//! at a reclaim unit it learns how many pages died since its last look. Summed over reclaim units
//! by age that is a hazard, and from it a survival curve (the actuarial estimate; reclaim units
//! that are collected leave the count). The path of a page write keeps nothing for it.
//!
//! State: 48 bytes for each reclaim unit and 12 KiB for each class in use. Work per collection: one
//! comparison for each reclaim unit, a look at an eighth of them, and an index for those that could
//! be chosen soon.

mod curve;

pub(crate) use curve::Prospect;
use curve::{Bins, Curve};

use super::RuView;
use crate::ids::RuId;
use crate::observer::Owner;

/// Device writes over which what was seen fades by half.
const HALF_LIFE: f64 = 2.0;
/// Curves are derived again after this share of a device write.
const REFRESH: f64 = 1.0 / 64.0;
/// Reclaim units looked at for each collection, in turn.
const LOOKS: u32 = 64;
/// Most and least frailty.
const MOST_FRAIL: f64 = 16.0;
/// Frailty is sampled when this share of the pages should have died.
const SAMPLE: f64 = 0.0625;
/// How many of the lowest indices are looked at again before the choice.
const SHORT_LIST: usize = 12;
/// Device writes that prospects reach.
const HORIZON: f64 = 4.0;
/// Classes of one handle: what the host wrote and the generations of relocated data.
const PER_HANDLE: usize = 9;

/// What was seen of one reclaim unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Track {
    /// Position in the order of closing, plus one: tells present contents from former ones.
    order: u64,
    closed: u64,
    /// Host pages written to the device at the last look.
    at: u64,
    /// Dead pages times host pages written since they died.
    pub(crate) waste: f64,
    index: f64,
    /// Host pages written when its pages were written first, on average.
    born: f64,
    /// Frailty expected from where its pages came; deaths expected of an average one since it was closed.
    inherited: f64,
    expected: f64,
    died: f64,
    pub(crate) valid: u32,
    class: u16,
    sampled: bool,
    sentinel: bool,
}

/// Of what a class of relocated data is being filled.
#[derive(Clone, Copy, Debug, Default)]
struct Inflow {
    pages: f64,
    born: f64,
    frailty: f64,
}

/// A value for reclaim units; the smallest is collected.
pub(crate) trait Index: Send {
    /// The index of a reclaim unit that has valid pages.
    fn value(&self, known: &Known, track: &Track) -> f64;

    /// A victim was chosen at this index; `None` if it held nothing valid, or nothing else.
    fn chosen(&mut self, known: &Known, track: &Track, index: Option<f64>) {
        let _ = (known, track, index);
    }

    /// The curves were derived again after what was seen faded by this factor.
    fn refreshed(&mut self, known: &Known, fade: f64) {
        let _ = (known, fade);
    }
}

/// What is known of the device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    tracks: Vec<Track>,
    bins: Option<Bins>,
    curves: Vec<Option<Curve>>,
    /// Of each handle, all its classes together: what a class is taken for before it is known.
    whole: Vec<Option<Curve>>,
    /// Of each handle, logarithms of the expected lives at which classes of relocated data part.
    parts: Vec<Vec<f64>>,
    inflows: Vec<Inflow>,
    /// Pages of a reclaim unit.
    pub(crate) pages: f64,
    /// Pages of the group that is looked at.
    pub(crate) device: f64,
    /// Of each handle, the most generations of relocated data seen to be kept apart.
    generations: Vec<usize>,
    refreshed: u64,
    turn: u32,
    mean: f64,
    release: bool,
    list: Vec<(f64, u32)>,
}

impl Known {
    pub(crate) fn class(&self, track: &Track) -> usize {
        usize::from(track.class)
    }

    /// Age of a reclaim unit at the last look, in host pages.
    pub(crate) fn age(&self, track: &Track) -> f64 {
        track.at as f64 - track.born
    }

    fn handle_of(class: usize) -> usize {
        match class {
            0 => 0,
            class => 1 + (class - 1) / PER_HANDLE,
        }
    }

    fn curve_of(class: u16) -> usize {
        if env("BYCLASS", 1.0) == 0.0 { Self::handle_of(usize::from(class)) } else { usize::from(class) }
    }

    /// The class of relocated data that takes pages of this expected life.
    pub(crate) fn class_for(&self, class: usize, life: f64) -> usize {
        if env("GROUP", 1.0) == 0.0 { return self.next(class); }
        let handle = Self::handle_of(class);
        if handle == 0 {
            return 0;
        }
        let part = self.parts.get(handle).map_or(0, |parts| parts.iter().filter(|b| life.ln() < **b).count());
        2 + (handle - 1) * PER_HANDLE + part
    }

    fn learn_parts(&mut self, class: usize, life: f64, pages: f64) {
        let handle = Self::handle_of(class);
        if self.parts.len() <= handle {
            self.parts.resize(handle + 1, Vec::new());
        }
        let count = env("GENS", 3.0) as usize;
        let (x, parts) = (life.ln(), &mut self.parts[handle]);
        if parts.len() < count - 1 {
            *parts = (1..count).map(|i| x - 0.1 * (i as f64)).collect();
        }
        for (i, b) in parts.iter_mut().enumerate() {
            let above = 1.0 - (i + 1) as f64 / count as f64;
            let over = f64::from(u8::from(x > *b));
            // the share above b_i should be (i + 1) / count
            *b += 0.05 * pages / self.pages * (over - (1.0 - above));
        }
    }

    pub(crate) fn dump(&self) {
        let (b, c) = (self.bins.as_ref().unwrap(), self.curves[1].as_ref().unwrap());
        for i in (0..255).filter(|i| b.edges[*i] > 0.05 * self.device && b.edges[*i] < 2.5 * self.device) {
            let (d, e) = c.raw(i);
            eprintln!("  age {:.3} dead {:.3} exposure {:.3} hazard {:.2} S {:.3}", b.edges[i] / self.device, d / self.pages, e / self.pages / self.device, c.hazard[i] * self.device, c.survival[i]);
        }
        let n = self.tracks.iter().filter(|t| t.sentinel && t.valid > 0).count();
        eprintln!("release {} sentinels {n}", self.release);
    }
    pub(crate) fn refreshed_at(&self) -> u64 { self.refreshed }

    fn curve(&self, track: &Track) -> Option<&Curve> {
        self.curves.get(Self::curve_of(track.class))?.as_ref()
    }

    /// How much faster than on average the pages of this reclaim unit die.
    pub(crate) fn frailty(&self, track: &Track) -> f64 {
        let k = self.curve(track).map_or(f64::MAX, |curve| curve.shape).max(env("K", 0.25)*self.pages);
        let frailty = (k * track.inherited + track.died) / (k + track.expected);
        frailty.clamp(env("LOW", 1.0), MOST_FRAIL)
    }

    /// Where relocated data of a class goes, as far as that was seen.
    pub(crate) fn next(&self, class: usize) -> usize {
        let Some(number) = class.checked_sub(1) else { return 0 };
        let (handle, generation) = (number / PER_HANDLE, number % PER_HANDLE);
        match self.generations[handle] {
            0 if self.curves[0].is_some() => 0,
            most => class - generation + (generation + 1).min(most.max(1)),
        }
    }

    /// Share of valid pages that dies per host page, at the age of this reclaim unit.
    pub(crate) fn hazard(&self, track: &Track) -> f64 {
        match (&self.bins, self.curve(track)) {
            (Some(bins), Some(curve)) => {
                curve.hazard[bins.of(self.age(track))] * self.frailty(track)
            }
            _ => 0.0,
        }
    }

    /// What is expected of this reclaim unit if it is left alone.
    pub(crate) fn prospects(&self, track: &Track, see: impl FnMut(Prospect)) {
        if let (Some(bins), Some(curve)) = (&self.bins, self.curve(track)) {
            let valid = f64::from(track.valid);
            let (age, frailty) = (self.age(track), self.frailty(track));
            curve.prospects(bins, age, valid, frailty, HORIZON * self.device, see);
        }
    }

    /// Host pages that a page of this reclaim unit is expected to live on.
    pub(crate) fn life(&self, track: &Track) -> f64 {
        let mut life = 1.0;
        self.prospects(track, |then| life = then.lived / f64::from(track.valid));
        life.max(1.0)
    }

    pub(crate) fn relocated_class(&self, victim: RuId) -> Option<u8> {
        if env("GROUP", 1.0) == 0.0 { return None; }
        let track = self.tracks.get(victim.index())?;
        if track.valid == 0 { return None; }
        let next = self.class_for(usize::from(track.class), self.life(track));
        Some((next.checked_sub(1)? % PER_HANDLE).checked_sub(1)? as u8)
    }

    fn class_of(&mut self, rus: &RuView<'_>, ru: RuId) -> u16 {
        let class = match rus.owner(ru) {
            Owner::Gc => 0,
            Owner::Handle(handle) => {
                let generation = usize::from(rus.generation(ru)).min(PER_HANDLE - 1);
                if self.generations.len() <= handle.index() {
                    self.generations.resize(handle.index() + 1, 0);
                }
                let most = &mut self.generations[handle.index()];
                *most = generation.max(*most);
                1 + handle.index() * PER_HANDLE + generation
            }
        };
        if self.inflows.len() <= class {
            self.inflows.resize(class + 1, Inflow::default());
        }
        let curve = Self::curve_of(class as u16);
        if self.curves.len() <= curve {
            self.curves.resize(curve + 1, None);
        }
        self.curves[curve].get_or_insert_with(Curve::new);
        let whole = Self::handle_of(class);
        if self.whole.len() <= whole {
            self.whole.resize(whole + 1, None);
        }
        self.whole[whole].get_or_insert_with(Curve::new);
        class as u16
    }

    /// Takes note of what became of a reclaim unit since the last look.
    fn look(&mut self, rus: &RuView<'_>, ru: RuId, valid: u32) {
        let (order, now) = (rus.closed_order(ru) + 1, rus.now());
        let mut track = self.tracks[ru.index()];
        if track.order != order {
            let class = self.class_of(rus, ru);
            let closed = now - rus.age(ru);
            // When it lost pages before it was closed is not known: counted as if right after.
            let full = if now > closed { rus.pages_per_ru() } else { valid };
            let (mut born, mut inherited) = (closed as f64, 1.0);
            if rus.relocated(ru) {
                let flow = std::mem::take(&mut self.inflows[usize::from(class)]);
                if flow.pages > 0.0 {
                    if env("BORN", 0.0) > 0.0 { born = flow.born / flow.pages; }
                    if env("INH", 0.0) > 0.0 { inherited = flow.frailty / flow.pages; }
                }
            }
            track = Track {
                order,
                closed,
                at: closed,
                valid: full,
                class,
                born,
                inherited,
                sentinel: !rus.relocated(ru) && order.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (env("SENT", 0.03) * 4294967296.0) as u64,
                ..Track::default()
            };
        }
        let time = (now - track.at) as f64;
        if time > 0.0 {
            let died = f64::from(track.valid - valid);
            let alive = f64::from(track.valid) - died / 2.0;
            track.waste += (self.pages - alive) * time;
            let from = (track.at as f64 - track.born).max(0.0);
            let frailty = self.frailty(&track);
            let curve = &mut self.curves[Self::curve_of(track.class)];
            if let (Some(bins), Some(curve)) = (&self.bins, curve) {
                track.expected += alive * curve.between(bins, from, from + time);
                track.died += died;
                curve.count(bins, from, from + time, died, alive * if env("EM", 0.0) > 0.0 { frailty } else { 1.0 });
                if let Some(whole) = &mut self.whole[Self::handle_of(usize::from(track.class))] {
                    whole.count(bins, from, from + time, died, alive);
                }
                let mean = track.inherited * track.expected;
                if !track.sampled && mean > SAMPLE * self.pages {
                    track.sampled = true;
                    curve.sample(track.died, mean);
                }
            }
            track.valid = valid;
            track.at = now;
        }
        self.tracks[ru.index()] = track;
    }

    /// Derives the curves again if it is time. Answers by what factor counts faded.
    fn refresh(&mut self, now: u64) -> Option<f64> {
        let time = (now - self.refreshed) as f64;
        if self.refreshed != 0 && time < self.device * REFRESH {
            return None;
        }
        self.refreshed = now;
        let fade = (-time / self.device / HALF_LIFE).exp2();
        let bins = self.bins.as_ref()?;
        let few = 8.0 * self.pages * self.pages;
        self.whole.iter_mut().flatten().for_each(|curve| curve.refresh(bins, fade, None, 0.0));
        for (class, curve) in self.curves.iter_mut().enumerate() {
            if let Some(curve) = curve {
                let whole = if env("BYCLASS", 1.0) == 0.0 { None } else { self.whole[Self::handle_of(class)].as_ref() };
                curve.refresh(bins, fade, whole, few);
            }
        }
        Some(fade)
    }

    /// The candidate with the smallest index, or one without valid pages if there is one.
    pub(crate) fn select(&mut self, rus: &mut RuView<'_>, index: &mut impl Index) -> Option<RuId> {
        let range = rus.range();
        self.pages = f64::from(rus.pages_per_ru());
        self.device = range.len() as f64 * self.pages;
        self.bins.get_or_insert_with(|| Bins::new(rus.pages_per_ru()));
        if self.tracks.len() < range.end as usize {
            self.tracks.resize(range.end as usize, Track::default());
        }
        let least = rus.least_valid()?;
        if rus.valid(least) == Some(0) {
            self.look(rus, least, 0);
            self.mean *= 0.998;
            index.chosen(self, &self.tracks[least.index()], None);
            return Some(least);
        }
        if let Some(fade) = self.refresh(rus.now()) {
            index.refreshed(self, fade);
        }
        self.turn = (self.turn + 1) % range.end.div_ceil(LOOKS);
        let mut list = std::mem::take(&mut self.list);
        if self.turn == 0 {
            let (mut all, mut mine) = (0.0, 0.0);
            for number in range.clone() {
                let Some(valid) = rus.valid(RuId(number)) else { continue };
                let dead = self.pages - f64::from(valid);
                all += dead;
                if self.tracks[number as usize].sentinel { mine += dead; }
            }
            self.release = mine > env("SBUD", 0.01) * all;
        }
        list.clear();
        for number in range {
            let ru = RuId(number);
            let Some(valid) = rus.valid(ru) else { continue };
            let fresh = self.tracks[ru.index()].order != rus.closed_order(ru) + 1;
            if number / LOOKS == self.turn || fresh || ru == least {
                self.look(rus, ru, valid);
                self.tracks[ru.index()].index = self.value(index, ru);
            }
            list.push((self.tracks[ru.index()].index, number));
        }
        let short = SHORT_LIST.min(list.len());
        let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        list.select_nth_unstable_by(short - 1, order);
        let mut best = (f64::INFINITY, least.0);
        for (_, number) in &list[..short] {
            let ru = RuId(*number);
            self.look(rus, ru, rus.valid(ru)?);
            let value = self.value(index, ru);
            self.tracks[ru.index()].index = value;
            if order(&(value, ru.0), &best).is_lt() {
                best = (value, ru.0);
            }
        }
        self.list = list;
        if std::env::var("DBG").is_ok() && self.turn == 0 { eprintln!("now {} least {} best {:?} v {:?} frail {} k {:?} age {} class {}", rus.now() as f64/self.device, rus.valid(least).unwrap(), best, rus.valid(RuId(best.1)), self.frailty(&self.tracks[best.1 as usize]), self.curves.iter().flatten().map(|c| c.shape).collect::<Vec<_>>(), self.age(&self.tracks[best.1 as usize])/self.device, self.tracks[best.1 as usize].class); }
        let (value, victim) = (best.0, RuId(best.1));
        self.look(rus, victim, rus.valid(victim)?);
        let track = self.tracks[victim.index()];
        let share = f64::from(track.valid) / self.pages;
        if self.mean == 0.0 { self.mean = share; }
        self.mean += 0.002 * (share - self.mean);
        index.chosen(self, &track, Some(value).filter(|v| v.is_finite()));
        let life = self.life(&track);
        let next = self.class_for(usize::from(track.class), life);
        self.learn_parts(usize::from(track.class), life, f64::from(track.valid));
        let frailty = self.frailty(&track);
        if self.inflows.len() <= next {
            self.inflows.resize(next + 1, Inflow::default());
        }
        let flow = &mut self.inflows[next];
        let valid = f64::from(track.valid);
        flow.pages += valid;
        flow.born += valid * track.born;
        flow.frailty += valid * frailty;
        Some(victim)
    }

    fn value(&self, index: &impl Index, ru: RuId) -> f64 {
        let track = &self.tracks[ru.index()];
        match track.valid {
            0 => -1.0,
            // Collecting it would gain nothing.
            valid if f64::from(valid) >= self.pages => f64::INFINITY,
            valid if track.sentinel && !self.release && f64::from(valid) > env("SREL", 0.5) * self.pages => f64::INFINITY,
            valid if self.mean > 0.0 && f64::from(valid) / (self.pages - f64::from(valid)) > env("GUARD", 1e9) * self.mean / (1.0 - self.mean) => f64::INFINITY,
            valid if track.class == 1 && f64::from(valid) > env("HACK", 2.0) * self.pages => f64::INFINITY,
            _ => index.value(self, track),
        }
    }
}

pub(crate) fn env(name: &'static str, or: f64) -> f64 {
    use std::sync::OnceLock;
    static M: OnceLock<std::collections::HashMap<String, f64>> = OnceLock::new();
    let m = M.get_or_init(|| std::env::vars().filter_map(|(k, v)| Some((k, v.parse().ok()?))).collect());
    m.get(name).copied().unwrap_or(or)
}
