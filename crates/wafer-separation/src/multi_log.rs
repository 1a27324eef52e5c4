//! Multi-log: written pages in classes a factor of four apart, by how long their last content lived; relocated
//! pages keep their class (after Stoica and Ailamaki, "Improving flash write performance by using update
//! frequency", VLDB '13).

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::separator::{Separator, Sizes, Victim};

/// Lifetimes at which the next class begins, in turnovers of the logical space.
const BOUNDS: [f64; 3] = [1.0 / 16.0, 0.25, 1.0];

/// Learns nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MultiLog {
    #[serde(skip)]
    logical_pages: f64,
}

impl Separator for MultiLog {
    const HOST_CLASSES: u8 = BOUNDS.len() as u8 + 1;

    fn relocated_classes(_: u8) -> u8 {
        Self::HOST_CLASSES
    }

    fn new(sizes: &Sizes) -> Self {
        MultiLog { logical_pages: sizes.logical_pages as f64 }
    }

    #[inline(always)]
    fn host_class(&self, _: u32, old: Option<impl Content>, _: u64) -> (u8, u64) {
        let Some(old) = old else { return (Self::HOST_CLASSES - 1, 0) };
        let turnovers = old.lived() as f64 / self.logical_pages;
        (BOUNDS.iter().filter(|bound| turnovers >= **bound).count() as u8, 0)
    }

    fn collect(&mut self, victim: &Victim, _: u64) -> u8 {
        victim.generation.checked_sub(1).unwrap_or(victim.class)
    }
}
