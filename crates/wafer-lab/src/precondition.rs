//! What is written before a run begins to count.

use std::fmt;
use std::str::FromStr;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};
use wafer_core::{Command, Geometry, LBA_BYTES, NsId, Op, Placement};
use wafer_workload::CommandStream;

/// State of the device when the run starts. Text form: `fresh`, or one or more of `sequential`,
/// `random:N` and `load` in this order, joined by `+`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Precondition {
    /// One sequential fill of every namespace, in order, by its first placement handle.
    pub sequential: bool,
    /// Then this many logical capacities of single-page writes at independent uniform addresses
    /// over all namespaces.
    pub random: f64,
    /// Then the application loads its data, as it would at the start of the run.
    pub load: bool,
}

impl FromStr for Precondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || {
            format!(
                "`{text}` is not a precondition; known: fresh, sequential, random:N, load, and \
                 several of them joined by +, such as sequential+random:N"
            )
        };
        let mut state = Precondition::default();
        if text.trim() == "fresh" {
            return Ok(state);
        }
        // Every part once, in the order in which they happen.
        let mut before = 0;
        for part in text.trim().split('+') {
            let place = match part {
                "sequential" => {
                    state.sequential = true;
                    1
                }
                "load" => {
                    state.load = true;
                    3
                }
                random => {
                    let times = random.strip_prefix("random:").and_then(|n| n.parse().ok());
                    state.random = times.ok_or_else(fail)?;
                    if !(state.random > 0.0 && state.random <= 1000.0) {
                        return Err(fail());
                    }
                    2
                }
            };
            if place <= before {
                return Err(fail());
            }
            before = place;
        }
        Ok(state)
    }
}

impl fmt::Display for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.sequential {
            parts.push("sequential".to_owned());
        }
        if self.random > 0.0 {
            parts.push(format!("random:{}", self.random));
        }
        if self.load {
            parts.push("load".to_owned());
        }
        f.write_str(if parts.is_empty() { "fresh" } else { "" })?;
        f.write_str(&parts.join("+"))
    }
}

impl From<Precondition> for String {
    fn from(precondition: Precondition) -> String {
        precondition.to_string()
    }
}

impl TryFrom<String> for Precondition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Bytes of one sequential command of the fill.
const FILL_BYTES: u64 = 1 << 20;

impl Precondition {
    /// The commands that bring a device of this geometry into the state, `load` left out; none for a
    /// fresh one.
    pub fn stream(&self, geometry: &Geometry, seed: u64) -> Option<PreconditionStream> {
        let page = geometry.page_bytes;
        let pages: Vec<u64> = geometry.namespace_bytes().iter().map(|bytes| bytes / page).collect();
        let total: u64 = pages.iter().sum();
        let random_left = (total as f64 * self.random).round() as u64;
        if !self.sequential && random_left == 0 {
            return None;
        }
        let fill = if self.sequential { 0 } else { pages.len() };
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Some(PreconditionStream { page, pages, total, fill, next_page: 0, random_left, rng })
    }
}

/// The commands of a precondition.
pub struct PreconditionStream {
    page: u64,
    /// Pages of each namespace.
    pages: Vec<u64>,
    total: u64,
    /// Namespace that the sequential fill is in; past the last when it is done.
    fill: usize,
    next_page: u64,
    random_left: u64,
    rng: Xoshiro256PlusPlus,
}

impl PreconditionStream {
    /// Bytes that are still to come.
    pub fn total_bytes(&self) -> u64 {
        let fill: u64 = self.pages.iter().skip(self.fill).sum();
        (fill - self.next_page.min(fill) + self.random_left) * self.page
    }

    fn command(&mut self) -> Option<Command> {
        while let Some(&pages) = self.pages.get(self.fill) {
            let count = (FILL_BYTES / self.page).max(1).min(pages - self.next_page);
            if count > 0 {
                let first = self.next_page;
                self.next_page += count;
                return Some(self.write(self.fill, first, count));
            }
            self.fill += 1;
            self.next_page = 0;
        }
        self.random_left = self.random_left.checked_sub(1)?;
        // Multiply-shift: uniform to within total / 2^64.
        let draw = u128::from(self.rng.next_u64()) * u128::from(self.total);
        let mut page = (draw >> 64) as u64;
        let mut namespace = 0;
        while page >= self.pages[namespace] {
            page -= self.pages[namespace];
            namespace += 1;
        }
        Some(self.write(namespace, page, 1))
    }

    fn write(&self, namespace: usize, page: u64, count: u64) -> Command {
        let blocks_per_page = self.page / LBA_BYTES;
        Command {
            lba: page * blocks_per_page,
            blocks: (count * blocks_per_page) as u32,
            placement: Placement::NONE,
            op: Op::Write,
            namespace: NsId(namespace as u8),
        }
    }
}

impl CommandStream for PreconditionStream {
    fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        for _ in 0..max {
            let Some(command) = self.command() else { return };
            out.push(command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_round_trip() {
        for text in
            ["fresh", "sequential", "random:2", "sequential+random:0.5", "load", "random:1+load"]
        {
            assert_eq!(text.parse::<Precondition>().unwrap().to_string(), text);
        }
        let wrong = ["", "random", "random:0", "random:-1", "sequential+fresh", "random:nan"];
        for text in wrong.into_iter().chain(["load+sequential", "load+load", "load+"]) {
            assert!(text.parse::<Precondition>().is_err(), "{text}");
        }
    }
}
