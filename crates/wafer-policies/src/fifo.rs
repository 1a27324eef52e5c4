//! FIFO: the reclaim unit closed first.
//!
//! The log-structured store without cleaning policy: closed forms T1 and T6 (Desnoyers, SYSTOR '12; Xiang and
//! Kurkoski, arXiv 1110.4245).

use super::interface::{PolicyInfo, RuView};

pub(super) const INFO: PolicyInfo =
    PolicyInfo::by_isolation("fifo", "first closed, whatever it holds", |_| {
        Ok(Box::new(|rus: &mut RuView<'_>| {
            rus.candidates().map(|(ru, _)| ru).min_by_key(|ru| rus.closed_order(*ru))
        }))
    });
