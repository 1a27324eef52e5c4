//! GC policies: the choice of the reclaim unit to collect next.
//!
//! # What it is
//! [`VictimPolicy`] and the table of all [`POLICIES`], one per file. A policy sees a [`RuView`] of the [`ReclaimUnits`]
//! of the device, never pages. It runs once per collection, tens of thousands of page writes apart, so it may be slow.
//! To add one, write a function as in `fifo.rs` or implement [`VictimPolicy`], and name the file twice here: in a `mod`
//! line and in [`POLICIES`].
//!
//! # Invariants
//! A policy is deterministic: its choice depends on its view, its learned state and the random numbers that it draws.
//! Its learned state is saved and restored with the device.
//!
//! # Error model
//! [`make`] names the key of a parameter that is out of range. Choosing a reclaim unit that is not a candidate is a bug
//! in the policy, which the device asserts against.
//!
//! # What it does not implement
//! When to collect garbage, and moving a victim's pages: the device does that.

pub mod adaptive;
mod config;
mod cost_age_time;
mod cost_benefit;
mod d_choices;
mod features;
mod fifo;
mod gittins;
mod greedy;
mod hazard;
mod interface;
mod look_ahead;
mod midas;
mod quota;
mod random;
mod rng;
mod survival;
mod two_regions;
mod units;
mod windowed_greedy;

pub use config::{Destination, GcConfig, RelocationOrder};
pub use interface::{Learned, PolicyInfo, RuView, Smaller, VictimPolicy};

pub use rng::{DeviceRng, Purpose};
pub use units::{
    Contents, Label, MinIndex, NOT_CLOSED, ReclaimUnit, ReclaimUnits, RuIndex, Seen, State,
};
use wafer_interface::InvalidKey;

/// All policies, in the order in which `wafer policies` lists them.
#[rustfmt::skip] // one policy, one line
pub const POLICIES: &[PolicyInfo] = &[
    greedy::INFO,
    cost_benefit::INFO,
    cost_age_time::INFO,
    fifo::INFO,
    random::INFO,
    d_choices::INFO,
    windowed_greedy::INFO,
    two_regions::INFO,
    midas::INFO,
    quota::FIXED,
    quota::PROPORTIONAL,
    quota::SQRT,
    quota::MARGINAL,
    hazard::INFO,
    look_ahead::INFO,
    gittins::INFO,
    adaptive::INFO,
];

/// Returns the policy of this name.
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    POLICIES.iter().find(|policy| policy.name == name)
}

/// Checks the parameters of every policy, including those not in use.
///
/// # Errors
/// The key that is out of range.
pub fn check(config: &GcConfig) -> Result<(), InvalidKey> {
    POLICIES.iter().try_for_each(|policy| (policy.make)(config).map(|_| ()))
}

/// Returns the policy that a configuration names.
///
/// # Errors
/// An unknown name, or a parameter that the policy rejects.
pub fn make(config: &GcConfig) -> Result<Box<dyn VictimPolicy>, InvalidKey> {
    let Some(info) = find(&config.policy) else {
        let names: Vec<_> = POLICIES.iter().map(|p| p.name).collect();
        let message = format!("no policy `{}`; known: {}", config.policy, names.join(", "));
        return Err(InvalidKey::new("gc.policy", message));
    };
    (info.make)(config)
}
