//! MiDAS: groups in a chain, sized by a model (Oh et al., "MiDAS: minimizing write amplification in log-structured
//! systems through adaptive group number and size configuration", FAST '24).
//!
//! Written data waits in one group, short-lived data in another. Data that is still valid when its turn comes, first in
//! first out, moves to the next group. The last groups are collected greedily. The number of groups, and how long data
//! stays in each, follow from how long pages stay valid (the paper's update interval distribution): every [`EPOCH`],
//! the policy searches for the chain that relocates least by the model. A group whose victims do not match the model is
//! joined to the last group.
//!
//! The paper has one stream; here each handle has its own chain, and the last groups of all chains share the remaining
//! space. The paper samples the intervals of one page in a hundred; here they are derived from valid counts, as for
//! `gittins`. Short-lived data and all groups need `gc.separation = "midas"`, which the policy requests if enough
//! reclaim units are spare. With other separations and destinations, it has only the groups that those keep apart.
//!
//! State: 40 bytes for each reclaim unit, and 30 KiB for each handle in use. Work per collection: a walk over the
//! reclaim units; in each epoch, some thousand evaluations of the model for each handle in use.

mod model;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use wafer_interface::{Owner, RuId};
use wafer_separation::Separation;
use wafer_survival::{Bins, Curve};

use self::model::{GROUPS, HEADS, Life, Plan};
use super::interface::{Learned, PolicyInfo, RuView, VictimPolicy};
use crate::config::{Destination, GcConfig};

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "midas",
    summary: "oldest in a chain of groups sized by a model of lifetimes; greedy in the last (MiDAS)",
    destination: Destination::Generation,
    separation: Some(Separation::Midas),
    make: |config| Ok(Box::new(Midas::new(config))),
};

/// Device writes after which the weight of observations halves.
const HALF_LIFE: f64 = 1.0;
/// Device writes after which groups are resized.
const EPOCH: f64 = 0.25;
/// Device writes for which a group that did not match the model is joined to the last group.
const JOINED: f64 = 1.0;
/// Device writes that short-lived data stays at first. How long it lives is observed only while it stays, so the
/// initial time must not be zero.
const SHORT: f64 = 0.05;
/// Epochs after which a group should match the model.
const STABLE_EPOCHS: u32 = 3;
/// Maximum difference between the mean valid share of a group's victims and the model's (as in the paper), and minimum
/// victims for a mean.
const MOST_ERROR: f64 = 0.1;
const FEWEST_VICTIMS: u32 = 8;
/// Device writes after closing a reclaim unit within which its first observation still reveals when its pages died.
const MOST_TIME: f64 = 1.0 / 16.0;
/// Reclaim units observed per collection, in turn.
const LOOKS: u32 = 64;

/// The last group of a chain with all groups.
const LAST: u8 = GROUPS as u8 - 1;

/// The observations of one reclaim unit.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Track {
    /// Position in the order of closing, plus one: distinguishes current contents from earlier ones.
    order: u64,
    /// Host pages written to the device at the last observation, and the mean of that count when its pages were
    /// written.
    at: u64,
    written: f64,
    valid: u32,
    /// Its chain and group; the group is the last one if its own had no room when it was sized.
    chain: u16,
    group: u8,
}

impl Track {
    fn place(&self) -> (usize, usize) {
        (self.chain.into(), self.group.into())
    }
}

/// A group of a chain.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Group {
    /// Host pages written to the device while data stays in the group; `None` if it is collected greedily.
    time: Option<f64>,
    /// The resulting share of all pages.
    size: Option<f64>,
    /// Epochs since it got a time.
    epochs: u32,
    /// Valid share of its victims by the model.
    expected: f64,
    /// Victims in this epoch, and the sum of their valid shares.
    victims: u32,
    moved: f64,
    /// Host pages written to the device until which it stays joined to the last group.
    joined_until: u64,
    /// Pages moved to it since its last reclaim unit was closed, and the sum of their times of writing.
    pages: f64,
    written: f64,
}

/// The state of a handle; the first is for data of several handles.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Chain {
    /// Whether its groups have been sized before.
    sized: bool,
    groups: [Group; GROUPS],
    /// Host pages written to each class, decayed.
    writes: [f64; HEADS],
    /// Lifetimes of all pages by age since they were written, and those of host writes by class.
    all: Curve,
    heads: [Curve; HEADS],
}

impl Chain {
    fn new() -> Self {
        let heads = [Curve::new(), Curve::new()];
        Chain {
            sized: false,
            groups: Default::default(),
            writes: [0.0; HEADS],
            all: Curve::new(),
            heads,
        }
    }

    /// Counts `died` pages of a group that died between two ages, of `alive` on average.
    fn count(&mut self, bins: &Bins, group: usize, from: f64, to: f64, died: f64, alive: f64) {
        self.all.count(bins, from, to, died, alive);
        if let Some(curve) = self.heads.get_mut(group) {
            curve.count(bins, from, to, died, alive);
        }
    }

    /// Returns the group to which a victim's pages move, as far as the drive separates that many.
    fn next(&self, group: usize) -> usize {
        let last = (HEADS..GROUPS).find(|at| self.groups[*at].size.is_none()).unwrap_or(GROUPS - 1);
        match self.groups[group].size {
            Some(_) if group < HEADS => HEADS,
            Some(_) => (group + 1).min(last),
            None => last,
        }
    }
}

/// The candidates of one group of a chain.
#[derive(Clone, Copy, Default)]
struct Members {
    units: u32,
    /// The one that was closed first.
    oldest: Option<(u64, RuId, u32)>,
}

/// See the [module](self).
#[derive(Default, Serialize, Deserialize)]
struct Midas {
    tracks: Vec<Track>,
    chains: Vec<Option<Chain>>,
    turn: u32,
    /// Host pages written to the device when groups were last sized.
    sized: u64,
    /// Whether the policy chooses the destination; other separations do that themselves.
    #[serde(skip)]
    chooses: bool,
    #[serde(skip)]
    bins: Option<Bins>,
    /// Scratch memory of a choice.
    #[serde(skip)]
    members: Vec<[Members; GROUPS]>,
}

/// Returns the chain and the group to which data is written.
fn place(rus: &RuView<'_>, ru: RuId) -> (usize, usize) {
    let Owner::Handle(handle) = rus.owner(ru) else { return (0, GROUPS - 1) };
    let group = match usize::from(rus.generation(ru)) {
        0 => usize::from(rus.host_class(ru)).min(HEADS - 1),
        generation => (HEADS + generation - 1).min(GROUPS - 1),
    };
    (1 + handle.index(), group)
}

/// Returns the number of pages in a reclaim group.
fn pages_of(rus: &RuView<'_>) -> f64 {
    rus.range.len() as f64 * f64::from(rus.pages_per_ru)
}

impl Midas {
    fn new(config: &GcConfig) -> Self {
        let chooses = matches!(config.separation, None | Some(Separation::Midas))
            && config.destination != Some(Destination::Writer);
        Midas { chooses, ..Midas::default() }
    }

    fn chain(&mut self, number: usize) -> &mut Chain {
        if self.chains.len() <= number {
            self.chains.resize(number + 1, None);
        }
        self.chains[number].get_or_insert_with(Chain::new)
    }

    /// Observes how a candidate has changed since the last observation.
    fn look(&mut self, rus: &RuView<'_>, ru: RuId, valid: u32) {
        let bins = self.bins.take().unwrap_or_else(|| Bins::new(rus.pages_per_ru));
        let order = rus.closed_order(ru) + 1;
        let (now, closed) = (rus.now, rus.now - rus.age(ru));
        let mut track = self.tracks[ru.index()];
        let (number, group) = if track.order == order { track.place() } else { place(rus, ru) };
        let chain = self.chain(number);
        if track.order != order {
            let (opened, moved) = (rus.rus.opened_at[ru.index()], &mut chain.groups[group]);
            let half = (closed - opened) as f64 / 2.0;
            let written = match moved.pages > 0.0 {
                true => moved.written / moved.pages,
                false => closed as f64 - half,
            };
            (moved.pages, moved.written) = (0.0, 0.0);
            let full = rus.rus.units[ru.index()].written;
            if group < HEADS {
                chain.writes[group] += f64::from(full);
            }
            let from = (opened as f64 - written).max(0.0);
            let (died, alive) = (f64::from(full - valid), f64::from(full + valid) / 2.0);
            // When pages died in a unit that was closed long ago is unknown.
            if now > opened && (now - closed) as f64 <= MOST_TIME * pages_of(rus) {
                chain.count(&bins, group, from, now as f64 - written, died, alive);
            }
            let (chain, group) = (number as u16, group as u8);
            track = Track { order, at: now, written, valid, chain, group };
        }
        if now > track.at {
            let died = f64::from(track.valid - valid);
            let alive = f64::from(track.valid) - died / 2.0;
            let (from, to) = (track.at as f64 - track.written, now as f64 - track.written);
            chain.count(&bins, group, from.max(0.0), to, died, alive);
            (track.at, track.valid) = (now, valid);
        }
        self.bins = Some(bins);
        self.tracks[ru.index()] = track;
    }

    /// Observes candidates that are new or due, and sorts all into their groups.
    fn observe(&mut self, rus: &RuView<'_>) -> (f64, f64) {
        let range = rus.range.clone();
        if self.tracks.len() < range.end as usize {
            self.tracks.resize(range.end as usize, Track::default());
        }
        self.turn = (self.turn + 1) % (range.len() as u32).div_ceil(LOOKS);
        self.members.clear();
        let (mut pages, mut all_valid) = (0.0, 0.0);
        for number in range.clone() {
            let ru = RuId(number);
            let Some(valid) = rus.valid(ru) else { continue };
            let order = rus.closed_order(ru) + 1;
            let fresh = self.tracks[ru.index()].order != order;
            if fresh || (number - range.start) / LOOKS == self.turn {
                self.look(rus, ru, valid);
            }
            self.sort(ru, order, valid);
            let (chain, group) = self.tracks[ru.index()].place();
            self.members[chain][group].units += 1;
            pages += f64::from(rus.pages_per_ru);
            all_valid += f64::from(valid);
        }
        (pages, all_valid)
    }

    /// Resizes the groups if that is due. Closed reclaim units have `pages` pages, `valid` of them valid.
    fn size(&mut self, rus: &RuView<'_>, pages: f64, valid: f64) {
        let device = pages_of(rus);
        let time = (rus.now - self.sized) as f64 / device;
        let Some(bins) = self.bins.take_if(|_| time >= EPOCH) else { return };
        let fade = (-time / HALF_LIFE).exp2();
        self.sized = rus.now;
        let joined_until = rus.now + (JOINED * device) as u64;
        for chain in self.chains.iter_mut().flatten() {
            for group in &mut chain.groups {
                let mean = group.moved / f64::from(group.victims.max(1));
                let wrong = (mean - group.expected).abs() > MOST_ERROR;
                if group.epochs >= STABLE_EPOCHS && group.victims >= FEWEST_VICTIMS && wrong {
                    group.joined_until = joined_until;
                }
                (group.victims, group.moved) = (0, 0.0);
            }
            if !chain.sized {
                chain.groups[0].time = Some(SHORT * device);
                chain.sized = true;
            }
            chain.writes.iter_mut().for_each(|writes| *writes *= fade);
            chain.all.refresh_as_seen(&bins, fade, None);
            let Chain { heads, all, .. } = chain;
            heads.iter_mut().for_each(|curve| curve.refresh_as_seen(&bins, fade, Some(all)));
        }
        let writes: f64 = self.chains.iter().flatten().flat_map(|chain| chain.writes).sum();
        let groups = HEADS + usize::from(rus.classes).min(GROUPS - HEADS);
        let lives: Vec<Option<Life<'_>>> = (self.chains.iter())
            .map(|chain| {
                let chain =
                    chain.as_ref().filter(|chain| chain.writes.iter().sum::<f64>() > 0.0)?;
                let may = std::array::from_fn(|at| {
                    at < groups - 1 && chain.groups[at].joined_until <= rus.now
                });
                let writes = chain.writes.map(|of| of / writes);
                let times = chain.groups.map(|group| group.time);
                Some(Life { bins: &bins, all: &chain.all, heads: &chain.heads, writes, may, times })
            })
            .collect();
        let plans: Vec<Plan> = model::search(&lives, pages, valid);
        for (chain, plan) in self.chains.iter_mut().zip(&plans) {
            let Some(chain) = chain else { continue };
            for (group, part) in chain.groups.iter_mut().zip(plan.parts) {
                group.time = part.map(|part| part.time);
                group.size = part.map(|part| part.pages / device);
                group.expected = part.map_or(0.0, |part| part.leaving);
                group.epochs = part.map_or(0, |_| group.epochs.saturating_add(1));
            }
        }
        self.bins = Some(bins);
        self.relieve(rus);
    }

    /// Reassigns the oldest reclaim units for which a group has no room to the last group, without moving them.
    fn relieve(&mut self, rus: &RuView<'_>) {
        let device = rus.range.len() as f64;
        let mut order: Vec<(u64, u32)> =
            (rus.candidates()).map(|(ru, _)| (rus.closed_order(ru), ru.0)).collect();
        order.sort_unstable();
        for (_, ru) in order {
            let track = &mut self.tracks[ru as usize];
            let (number, group) = track.place();
            let Some(Some(chain)) = self.chains.get(number) else { continue };
            let (Some(size), members) = (chain.groups[group].size, &mut self.members[number])
            else {
                continue;
            };
            if f64::from(members[group].units) > (size * device).ceil() {
                members[group].units -= 1;
                track.group = LAST;
            }
        }
        for members in self.members.iter_mut().flatten() {
            members.oldest = None;
        }
        for (ru, valid) in rus.candidates() {
            self.sort(ru, rus.closed_order(ru) + 1, valid);
        }
    }

    /// Adds a candidate to the members of its group.
    fn sort(&mut self, ru: RuId, order: u64, valid: u32) {
        let (chain, group) = self.tracks[ru.index()].place();
        if self.members.len() <= chain {
            self.members.resize(chain + 1, Default::default());
        }
        let of = &mut self.members[chain][group];
        if of.oldest.is_none_or(|(oldest, ..)| order < oldest) {
            of.oldest = Some((order, ru, valid));
        }
    }

    /// Returns the oldest candidate of the group that most exceeds its size, or the emptiest of the last groups. An
    /// oldest candidate without invalid pages is reassigned to the last group instead, because moving it would gain
    /// nothing.
    fn choose(&mut self, rus: &RuView<'_>) -> Option<RuId> {
        let device = rus.range.len() as f64;
        let mut most: Option<(f64, RuId)> = None;
        for (chain, members) in self.chains.iter().zip(&self.members) {
            let Some(chain) = chain else { continue };
            for (group, of) in chain.groups.iter().zip(members) {
                let (Some(size), Some((_, ru, valid))) = (group.size, of.oldest) else { continue };
                let excess = f64::from(of.units) - size * device;
                if valid == rus.pages_per_ru && excess > 0.0 {
                    self.tracks[ru.index()].group = LAST;
                } else if excess > most.map_or(0.0, |(most, _)| most) {
                    most = Some((excess, ru));
                }
            }
        }
        most.map(|(_, ru)| ru).or_else(|| {
            let last = rus.candidates().filter(|(ru, _)| {
                let (chain, group) = self.tracks[ru.index()].place();
                let chain = self.chains[chain].as_ref();
                chain.is_none_or(|chain| chain.groups[group].size.is_none())
            });
            let least = last.min_by_key(|(_, valid)| *valid)?;
            (least.1 < rus.pages_per_ru).then_some(least.0)
        })
    }
}

impl VictimPolicy for Midas {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        let least = rus.least_valid()?;
        if !rus.forced && rus.valid(least) != Some(0) {
            return None;
        }
        let (pages, valid) = self.observe(rus);
        self.size(rus, pages, valid);
        let victim = match rus.valid(least) {
            Some(0) => least,
            _ => self.choose(rus).unwrap_or(least),
        };
        let valid = rus.valid(victim)?;
        self.look(rus, victim, valid);
        let (chain, group) = self.tracks[victim.index()].place();
        let group = &mut self.chain(chain).groups[group];
        group.victims = group.victims.saturating_add(1);
        group.moved += f64::from(valid) / f64::from(rus.pages_per_ru);
        Some(victim)
    }

    fn destination(&mut self, victim: RuId, rus: &mut RuView<'_>) -> Option<u8> {
        if !self.chooses {
            return None;
        }
        let valid = rus.valid(victim)?;
        if self.tracks.len() <= victim.index() {
            self.tracks.resize(victim.index() + 1, Track::default());
        }
        self.look(rus, victim, valid);
        let track = self.tracks[victim.index()];
        let (written, (number, group)) = (track.written, track.place());
        let chain = self.chain(number);
        let to = chain.next(group).min(HEADS + usize::from(rus.classes) - 1);
        let taker = &mut chain.groups[to.min(GROUPS - 1)];
        taker.pages += f64::from(valid);
        taker.written += f64::from(valid) * written;
        Some((to - HEADS) as u8)
    }

    fn save(&self) -> Option<Learned> {
        Some(Learned::pack(self))
    }

    fn load(&mut self, learned: &Learned, rus: &RuView<'_>) -> Result<(), String> {
        let saved: Midas = learned.unpack()?;
        let ensure = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
        ensure(saved.tracks.len() <= rus.range.len(), "number of tracks")?;
        ensure(saved.turn <= rus.range.len() as u32, "turn")?;
        ensure(saved.sized <= rus.now, "time of the sizes")?;
        ensure(saved.chains.len() <= 1 + rus.handles, "number of chains")?;
        for chain in saved.chains.iter().flatten() {
            let mut curves = chain.heads.iter().chain([&chain.all]);
            ensure(curves.all(Curve::is_whole), "length of a curve")?;
            ensure(chain.writes.iter().all(|of| of.is_finite() && *of >= 0.0), "writes")?;
        }
        for (ru, track) in (0..).map(RuId).zip(&saved.tracks).filter(|(_, t)| t.order > 0) {
            ensure(track.at <= rus.now && track.valid <= rus.pages_per_ru, "a track")?;
            let chain = saved.chains.get(usize::from(track.chain)).is_some_and(Option::is_some);
            ensure(chain && usize::from(track.group) < GROUPS, "group of a track")?;
            if let Some(valid) = rus.valid(ru).filter(|_| rus.closed_order(ru) + 1 == track.order) {
                ensure(track.valid >= valid && track.written.is_finite(), "pages of a track")?;
            }
        }
        *self = Midas { chooses: self.chooses, ..saved };
        Ok(())
    }
}
