//! FIFO: the reclaim unit that was closed first, whatever it holds.
//!
//! The log-structured store without cleaning policy: closed forms T1 and T6 (Desnoyers, SYSTOR '12;
//! Xiang and Kurkoski, arXiv 1110.4245).

use super::{PolicyInfo, RuView, VictimPolicy};
use crate::config::Destination;
use wafer_interface::RuId;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "fifo",
    summary: "closed first, whatever it holds",
    destination: Destination::Isolation,
    separation: None,
    make: |_| Ok(Box::new(Fifo)),
};

struct Fifo;

impl VictimPolicy for Fifo {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        rus.candidates().map(|(ru, _)| ru).min_by_key(|ru| rus.closed_order(*ru))
    }
}
