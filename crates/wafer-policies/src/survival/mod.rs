//! What the index policies learn: how pages of each class are invalidated with age, from valid counts alone
//! (`docs/concepts/gittins.md`).
//!
//! A class is a handle and a generation, or the mixed data of several handles. Pages invalidated since the last
//! observation of their reclaim unit, summed by age, yield a hazard and from that a survival curve. A class with few
//! observations is taken for the mean of its handle: otherwise its pages would seem to live forever, and it would be
//! collected first.
//!
//! State: 48 bytes for each reclaim unit, and 12 KiB for each class in use and for each handle. Work per collection:
//! one comparison for each reclaim unit, and an observation and an index for [`LOOKS`] of them in turn, for those
//! closed since the last collection, and for the [`SHORT_LIST`] of possible victims.

pub(crate) use wafer_survival::Prospect;
use wafer_survival::{Bins, Curve};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::interface::{Learned, RuView, Smaller, VictimPolicy};
use wafer_interface::{Owner, RuId};
use wafer_separation::death_time;

/// Device writes after which the weight of observations halves.
const HALF_LIFE: f64 = 2.0;
/// Share of a device write after which curves are derived again.
const REFRESH: f64 = 1.0 / 64.0;
/// Maximum share of a device write between two observations of a reclaim unit; after more, the pages invalidated in
/// the meantime are not counted.
const MOST_TIME: f64 = 1.0 / 16.0;
/// Reclaim units observed per collection, in turn.
const LOOKS: u32 = 64;
/// Number of lowest indices to update before the choice.
const SHORT_LIST: usize = 12;
/// Device writes covered by prospects.
const HORIZON: f64 = 4.0;
/// Classes of host writes through one handle: where the drive separates, those of separation.
const HOST_CLASSES: usize = 1 + death_time::CLASSES as usize;
/// The class of a handle's relocated data grouped by death time.
const GROUPED: usize = HOST_CLASSES + 8;
/// Classes of one handle: host writes, the generations of relocated data, and grouped data.
const PER_HANDLE: usize = GROUPED + 1;

/// Returns the index in `Known::handles` at which a class is counted.
fn handle_of(class: usize) -> usize {
    class.div_ceil(PER_HANDLE)
}

/// The observations of one reclaim unit.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Track {
    /// Position in the order of closing, plus one: distinguishes current contents from earlier ones.
    order: u64,
    closed: u64,
    /// Host pages written to the device at the last observation.
    at: u64,
    /// Invalid pages times host pages written since.
    pub(crate) waste: f64,
    index: f64,
    pub(crate) valid: u32,
    pub(crate) class: u16,
}

impl Track {
    /// Returns the age of the reclaim unit at the last observation, in host pages.
    fn age(&self) -> f64 {
        (self.at - self.closed) as f64
    }
}

/// A value for reclaim units; the smallest is collected.
pub(crate) trait Index: Default + Send + Serialize + DeserializeOwned {
    /// Whether background GC may take reclaim units that hold valid pages.
    const MOVES_IN_BACKGROUND: bool = true;

    /// Returns the index of a reclaim unit with valid pages.
    fn value(&self, known: &Known, track: &Track) -> f64;

    /// Returns whether a reclaim unit may be collected while another may.
    fn allowed(&self, _known: &Known, _track: &Track) -> bool {
        true
    }

    /// Learns from a victim.
    fn chosen(&mut self, _known: &Known, _track: &Track) {}

    /// Learns from the curves, after they were derived again with counts decayed by `fade`.
    fn refreshed(&mut self, _known: &Known, _fade: f64) {}

    /// Checks learned state that comes from a file.
    fn check(&self, _known: &Known) -> Result<(), String> {
        Ok(())
    }
}

/// The policy that collects the reclaim unit with the smallest index.
#[derive(Default, Serialize, Deserialize)]
#[serde(bound = "I: Index")]
pub(crate) struct ByIndex<I> {
    known: Known,
    index: I,
}

impl<I: Index> VictimPolicy for ByIndex<I> {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        let least = rus.least_valid()?;
        if !I::MOVES_IN_BACKGROUND && !rus.forced && rus.valid(least) != Some(0) {
            return None;
        }
        self.known.select(rus, &mut self.index)
    }

    fn save(&self) -> Option<Learned> {
        Some(Learned::pack(self))
    }

    fn load(&mut self, learned: &Learned, rus: &RuView<'_>) -> Result<(), String> {
        let saved: Self = learned.unpack()?;
        saved.known.check(rus)?;
        saved.index.check(&saved.known)?;
        *self = saved;
        Ok(())
    }

    fn inherit(&mut self, learned: &Learned, smaller: Smaller, rus: &RuView<'_>) {
        if let Ok(mut saved) = learned.unpack::<Self>() {
            saved.known.stretch(smaller, rus);
            *self = saved;
        }
    }
}

/// The observations of the device.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Known {
    tracks: Vec<Track>,
    /// Created at the first choice.
    #[serde(skip)]
    bins: Option<Bins>,
    curves: Vec<Option<Curve>>,
    /// All classes of each handle together; the first is for data of several handles.
    handles: Vec<Curve>,
    /// Pages per reclaim unit.
    #[serde(skip)]
    pub(crate) pages: f64,
    /// Pages of the current reclaim group.
    #[serde(skip)]
    pub(crate) device: f64,
    /// For each handle, the maximum number of generations of relocated data seen.
    generations: Vec<usize>,
    refreshed: u64,
    turn: u32,
    /// Scratch memory of a choice.
    #[serde(skip)]
    list: Vec<(f64, u32)>,
}

impl Known {
    /// Returns the number of classes with curves, in use or not.
    pub(crate) fn classes(&self) -> usize {
        self.curves.len()
    }

    /// Checks learned state against the device that it is loaded into: every index that it contains, and that no
    /// observation is in the future.
    fn check(&self, rus: &RuView<'_>) -> Result<(), String> {
        let ensure = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
        let (all, now) = (rus.range.len(), rus.now);
        ensure(self.tracks.len() <= all && self.turn <= all as u32, "number of tracks")?;
        ensure(self.refreshed <= now, "time of the curves")?;
        ensure(self.curves.len() <= 1 + rus.handles * PER_HANDLE, "number of curves")?;
        let handles = self.curves.len().saturating_sub(1).div_ceil(PER_HANDLE);
        let counted = self.handles.len() > handles || self.curves.is_empty();
        ensure(counted && self.generations.len() >= handles, "curves of handles")?;
        ensure(self.handles.len() <= 1 + rus.handles, "number of handles")?;
        ensure(self.generations.len() <= rus.handles, "number of handles")?;
        ensure(self.generations.iter().all(|most| *most <= 8), "generations")?;
        let curves = self.curves.iter().flatten().chain(&self.handles);
        ensure(curves.into_iter().all(Curve::is_whole), "length of a curve")?;
        for (ru, track) in (0..).map(RuId).zip(&self.tracks).filter(|(_, t)| t.order > 0) {
            let curve = self.curves.get(usize::from(track.class));
            ensure(curve.is_some_and(Option::is_some), "a track without curve")?;
            ensure(track.closed <= track.at && track.at <= now, "time of a track")?;
            ensure(track.valid <= rus.pages_per_ru, "pages of a track")?;
            if let Some(valid) = rus.valid(ru).filter(|_| rus.closed_order(ru) + 1 == track.order) {
                let closed = now - rus.age(ru);
                ensure(track.valid >= valid && track.closed == closed, "a track")?;
            }
        }
        Ok(())
    }

    /// Converts what was learned on a smaller device to this one, whose reclaim units have no observations yet.
    fn stretch(&mut self, smaller: Smaller, rus: &RuView<'_>) {
        let (from, to) = (Bins::new(smaller.pages_per_ru), Bins::new(rus.pages_per_ru));
        for curve in self.handles.iter_mut().chain(self.curves.iter_mut().flatten()) {
            *curve = curve.stretched(&from, &to, smaller.pages);
        }
        self.derive(&to, 1.0);
        (self.bins, self.refreshed, self.turn) = (Some(to), rus.now, 0);
        self.tracks.clear();
    }

    /// Returns the class that relocated data of a class moves to, as far as observed.
    pub(crate) fn next(&self, class: usize) -> usize {
        let Some(number) = class.checked_sub(1) else { return 0 };
        let (handle, place) = (number / PER_HANDLE, number % PER_HANDLE);
        let first = class - place;
        if place == GROUPED || self.grouped(handle) && (1..HOST_CLASSES).contains(&place) {
            return first + GROUPED;
        }
        let generation = (place + 1).saturating_sub(HOST_CLASSES);
        match self.generations[handle] {
            0 if self.curves[0].is_some() => 0,
            0 => class,
            most => first + HOST_CLASSES - 1 + (generation + 1).min(most),
        }
    }

    /// Returns whether relocated data of a handle was seen grouped by death time.
    fn grouped(&self, handle: usize) -> bool {
        self.curves.get(1 + handle * PER_HANDLE + GROUPED).is_some_and(Option::is_some)
    }

    /// Returns the share of valid pages invalidated per host page, at the age of this reclaim unit.
    pub(crate) fn hazard(&self, track: &Track) -> f64 {
        match (&self.bins, &self.curves[usize::from(track.class)]) {
            (Some(bins), Some(curve)) => curve.hazard[bins.of(track.age())],
            _ => 0.0,
        }
    }

    /// Passes to `see` what is expected of this reclaim unit if it is left alone.
    pub(crate) fn prospects(&self, track: &Track, see: impl FnMut(Prospect)) {
        if let (Some(bins), Some(curve)) = (&self.bins, &self.curves[usize::from(track.class)]) {
            let valid = f64::from(track.valid);
            curve.prospects(bins, track.age(), valid, HORIZON * self.device, see);
        }
    }

    fn class_of(&mut self, rus: &RuView<'_>, ru: RuId) -> u16 {
        let class = match rus.owner(ru) {
            Owner::Gc => 0,
            Owner::Handle(handle) => {
                let place = match usize::from(rus.generation(ru)) {
                    0 => usize::from(rus.host_class(ru)),
                    _ if rus.death_time(ru).is_some() => GROUPED,
                    generation => HOST_CLASSES - 1 + generation.min(8),
                };
                if self.generations.len() <= handle.index() {
                    self.generations.resize(handle.index() + 1, 0);
                }
                let most = &mut self.generations[handle.index()];
                if (HOST_CLASSES..GROUPED).contains(&place) {
                    *most = (place + 1 - HOST_CLASSES).max(*most);
                }
                1 + handle.index() * PER_HANDLE + place
            }
        };
        if self.curves.len() <= class {
            self.curves.resize(class + 1, None);
        }
        self.curves[class].get_or_insert_with(Curve::new);
        let handles = 1 + handle_of(class);
        if self.handles.len() < handles {
            self.handles.resize(handles, Curve::new());
        }
        class as u16
    }

    /// Observes how a reclaim unit has changed since the last observation.
    fn look(&mut self, rus: &RuView<'_>, ru: RuId, valid: u32) {
        let (order, now) = (rus.closed_order(ru) + 1, rus.now);
        let mut track = self.tracks[ru.index()];
        if track.order != order {
            let class = self.class_of(rus, ru);
            let closed = now - rus.age(ru);
            // When it lost pages before it was closed is unknown; count them as lost right afterwards.
            let full = if now > closed { rus.pages_per_ru } else { valid };
            track = Track { order, closed, at: closed, valid: full, class, ..Track::default() };
        }
        let time = (now - track.at) as f64;
        if time > 0.0 {
            let died = f64::from(track.valid - valid);
            let alive = f64::from(track.valid) - died / 2.0;
            track.waste += (self.pages - alive) * time;
            let from = track.age();
            let class = usize::from(track.class);
            // When pages died during a long interval is unknown.
            let curve = Some(&mut self.curves[class]).filter(|_| time < MOST_TIME * self.device);
            if let (Some(bins), Some(Some(curve))) = (&self.bins, curve) {
                curve.count(bins, from, from + time, died, alive);
                self.handles[handle_of(class)].count(bins, from, from + time, died, alive);
            }
            track.valid = valid;
            track.at = now;
        }
        self.tracks[ru.index()] = track;
    }

    /// Derives the curves again if that is due. Returns the factor by which counts decayed.
    fn refresh(&mut self, now: u64) -> Option<f64> {
        let time = (now - self.refreshed) as f64;
        if self.refreshed != 0 && time < self.device * REFRESH {
            return None;
        }
        self.refreshed = now;
        let fade = (-time / self.device / HALF_LIFE).exp2();
        let bins = self.bins.take()?;
        self.derive(&bins, fade);
        self.bins = Some(bins);
        Some(fade)
    }

    /// Derives the curves from the observations, which decay.
    fn derive(&mut self, bins: &Bins, fade: f64) {
        self.handles.iter_mut().for_each(|curve| curve.refresh(bins, fade, None));
        for (class, curve) in self.curves.iter_mut().enumerate() {
            if let Some(curve) = curve {
                curve.refresh(bins, fade, Some(&self.handles[handle_of(class)]));
            }
        }
    }

    /// Returns the candidate with the smallest index, or one without valid pages if there is one.
    fn select(&mut self, rus: &mut RuView<'_>, index: &mut impl Index) -> Option<RuId> {
        let range = rus.range.clone();
        self.pages = f64::from(rus.pages_per_ru);
        self.device = range.len() as f64 * self.pages;
        self.bins.get_or_insert_with(|| Bins::new(rus.pages_per_ru));
        if self.tracks.len() < range.end as usize {
            self.tracks.resize(range.end as usize, Track::default());
        }
        let least = rus.least_valid()?;
        let start = range.start;
        self.turn = (self.turn + 1) % (range.len() as u32).div_ceil(LOOKS);
        if rus.valid(least) == Some(0) {
            let first = start + self.turn * LOOKS;
            for ru in (first..range.end.min(first + LOOKS)).map(RuId) {
                if let Some(valid) = rus.valid(ru) {
                    self.look(rus, ru, valid);
                }
            }
            self.look(rus, least, 0);
            index.chosen(self, &self.tracks[least.index()]);
            return Some(least);
        }
        if let Some(fade) = self.refresh(rus.now) {
            index.refreshed(self, fade);
        }
        let mut list = std::mem::take(&mut self.list);
        list.clear();
        for number in range {
            let ru = RuId(number);
            let Some(valid) = rus.valid(ru) else { continue };
            let fresh = self.tracks[ru.index()].order != rus.closed_order(ru) + 1;
            if (number - start) / LOOKS == self.turn || fresh || ru == least {
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
        let victim = RuId(best.1);
        self.look(rus, victim, rus.valid(victim)?);
        index.chosen(self, &self.tracks[victim.index()]);
        Some(victim)
    }

    fn value(&self, index: &impl Index, ru: RuId) -> f64 {
        let track = &self.tracks[ru.index()];
        match track.valid {
            0 => -1.0,
            // Collecting it would gain nothing.
            valid if f64::from(valid) >= self.pages => f64::INFINITY,
            _ if !index.allowed(self, track) => f64::INFINITY,
            _ => index.value(self, track),
        }
    }
}
