//! Adaptive: wafer's policy. The least relocations saved by waiting, per dead space held meanwhile,
//! with the later relocations of the same pages counted.
//!
//! Collecting a reclaim unit moves its V valid pages. Each costs one relocation now and, on average, f
//! more in the class that it is moved to. Waiting until V' of them are valid saves (V - V') (1 + f)
//! relocations, and holds the dead space meanwhile, the integral of P - V. The index is the best ratio of
//! the two over any time of waiting:
//!
//! ```text
//! index = (1 + f) * max over t of (V - V(t)) / integral of (P - V(s)) ds from 0 to t
//! ```
//!
//! It is the Lagrange multiplier at which waiting and collecting are equally good; taking the smallest
//! makes it equal everywhere, the condition of least relocations within a given space (as for closed
//! form T8). What a reclaim unit held in the past is sunk and does not enter. V(t) comes from the
//! survival of the class (`survival/`), f from what became of the class's victims: moved
//! share v and dead space w, both per page of a reclaim unit, give f = v (1 + f') + price * w, with f'
//! of the class that takes the pages and the price the index of recent victims.
//!
//! - One class of uniform traffic: all hazards are equal, and the order is that of greedy.
//! - Classes of unequal hazard: spare space goes where it saves most, sqrt(p U) for T8.
//! - A sequential stream: its reclaim units are about to die as a whole; they are left alone.
//! - Background GC takes only what holds nothing: waiting is worth more than a free reclaim unit.
//!
//! Relocated data goes by handle and generation unless `gc.destination` says otherwise: what survives
//! long lives long. No parameter is meant to be set. State: see `survival/`, and 40 bytes a class.

use super::survival::{Index, Known, Track};
use super::{PolicyInfo, RuView, VictimPolicy};
use crate::config::Destination;
use crate::ids::RuId;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "adaptive",
    summary: "wafer's: least relocations saved by waiting, later ones counted, per space held",
    destination: Destination::Generation,
    make: |_| Ok(Box::new(Adaptive::default())),
};

/// Weight of one victim in the price of space.
const PRICE_WEIGHT: f64 = 0.01;

#[derive(Default)]
struct Adaptive {
    known: Known,
    costs: Costs,
}

/// What became of the victims of one class, fading.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    victims: f64,
    /// Sum of their valid shares.
    moved: f64,
    /// Sum of the dead space they held, per page of a reclaim unit, in device writes.
    held: f64,
    /// Relocations that a page of the class is still to cost, with the price of its dead space.
    future: f64,
}

#[derive(Default)]
struct Costs {
    flows: Vec<Flow>,
    dbg: Vec<[f64; 6]>,
    /// Relocations that one device of space held over one device write is worth: the index of
    /// recent victims.
    price: f64,
}

impl Costs {
    fn weight(&self) -> f64 { super::survival::env("PW", 0.0) }
    fn future(&self, class: usize) -> f64 {
        self.flows.get(class).map_or(0.0, |flow| flow.future)
    }
}

impl Index for Costs {
    fn value(&self, known: &Known, track: &Track) -> f64 {
        let valid = f64::from(track.valid);
        // Waiting a moment; then ever longer.
        let mut life = 1.0f64;
        let mut best = known.hazard(track) * valid / (known.pages - valid);
        known.prospects(track, |then| {
            best = best.max((valid - then.valid) / (known.pages * then.wait - then.lived));
            life = then.lived / valid;
        });
        best * known.device * (1.0 + self.future(known.class_for(known.class(track), life.max(1.0))))
    }

    fn chosen(&mut self, known: &Known, track: &Track, index: Option<f64>) {
        let class = known.class(track);
        if self.flows.len() <= class {
            self.flows.resize(class + 1, Flow::default());
        }
        let further = 1.0 + if track.valid > 0 { self.future(known.class_for(class, known.life(track))) } else { 0.0 };
        let flow = &mut self.flows[class];
        flow.victims += 1.0;
        if self.dbg.len() <= class { self.dbg.resize(class + 1, [0.0; 6]); }
        let d = &mut self.dbg[class];
        d[0] += 1.0; if track.valid == 0 { d[1] += 1.0 }
        d[2] += f64::from(track.valid) / known.pages; d[3] += known.age(track) / known.device; d[4] += track.waste / known.pages / known.device;
        d[5] += index.unwrap_or(0.0);
        flow.moved += f64::from(track.valid) / known.pages * further;
        flow.held += track.waste / known.pages / known.device;
        if let Some(index) = index {
            self.price += PRICE_WEIGHT * (index - self.price);
        }
    }

    fn refreshed(&mut self, known: &Known, fade: f64) {
        if std::env::var("DBG2").is_ok() && (known.refreshed_at() as f64 / known.device / 2.0).fract() < 0.008 {
            eprintln!("== {:.2} price {:.2}", known.refreshed_at() as f64 / known.device, self.price);
            for (c, d) in self.dbg.iter().enumerate() {
                if d[0] > 0.0 { eprintln!("class {c}: ends {:.0} zero {:.2} v {:.3} age {:.3} dead-age-weighted held {:.3} future {:.2} index {:.1}", d[0], d[1]/d[0], d[2]/(d[0]-d[1]), d[3]/d[0], d[4]/d[0], self.flows[c].future, d[5]/(d[0]-d[1])); }
            }
            self.dbg.clear();
            known.dump();
        }
        for class in 0..self.flows.len() {
            let flow = self.flows[class];
            if flow.victims <= 0.0 {
                continue;
            }
            let (moved, held) = (flow.moved / flow.victims, flow.held / flow.victims);
            let future = (moved + self.weight() * self.price * held).min(50.0);
            self.flows[class] = Flow {
                victims: flow.victims * fade,
                moved: flow.moved * fade,
                held: flow.held * fade,
                future,
            };
        }
    }
}

impl VictimPolicy for Adaptive {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        let least = rus.least_valid()?;
        if !rus.forced() && rus.valid(least) != Some(0) {
            return None;
        }
        self.known.select(rus, &mut self.costs)
    }

    fn relocated_class(&mut self, _: &RuView<'_>, victim: RuId) -> Option<u8> {
        self.known.relocated_class(victim)
    }
}
