//! FADaC: pages go to classes by the fading average of how long their contents lived; the fading average over all
//! written pages sets the bounds (after Kremer and Brinkmann, "FADaC: a self-adapting data classifier for flash
//! memory", SYSTOR '19).
//!
//! The paper cools a page when it is relocated. The device relocates segments without looking at their pages, so
//! relocated pages go to the next longer-lived class instead, and the average of a page does not change.
//!
//! State: 4 bytes for each page. Work: one average for each written page.

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::separator::{Separator, Sizes, Victim};

/// Number of classes, the shortest-lived first; the bounds between them are a factor of four apart, from 1/16 to 16
/// times the average.
const CLASSES: u8 = 6;
/// A page's average moves by 1/4 of the distance to a lifetime, that of all pages by 1/1024 of the distance to a
/// page's.
const FADE: u32 = 2;
const FADE_ALL: u32 = 10;

/// Average lifetimes, in host pages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fadac {
    /// Of each page; 0: it was never overwritten.
    pages: Vec<u32>,
    /// Of all pages, times 1,024.
    all: u64,
    /// The class of the page that was written last.
    class: u8,
}

impl Separator for Fadac {
    const HOST_CLASSES: u8 = CLASSES;

    fn relocated_classes(_: u8) -> u8 {
        CLASSES
    }

    /// Starts with an average of one turnover of the logical space.
    fn new(sizes: &Sizes) -> Self {
        Fadac {
            pages: vec![0; sizes.logical_pages as usize],
            all: sizes.logical_pages << FADE_ALL,
            class: CLASSES - 1,
        }
    }

    fn write(&mut self, page: u64, _: u32, old: Option<impl Content>) {
        let average = &mut self.pages[page as usize];
        if let Some(old) = old {
            let lived = old.lived().clamp(1, u32::MAX.into()) as u32;
            *average = match *average {
                0 => lived,
                known if lived > known => known + ((lived - known) >> FADE),
                known => known - ((known - lived) >> FADE),
            };
            self.all = self.all - (self.all >> FADE_ALL) + u64::from(*average);
        }
        let average = u64::from(*average);
        let bounds = (0..u32::from(CLASSES) - 1).map(|at| (self.all << (2 * at)) >> (FADE_ALL + 4));
        self.class = match average {
            0 => CLASSES - 1,
            _ => bounds.filter(|bound| average >= *bound).count() as u8,
        };
    }

    #[inline(always)]
    fn host_class(&self, _: u32, _: Option<impl Content>, _: u64) -> (u8, u64) {
        (self.class, 0)
    }

    fn collect(&mut self, victim: &Victim, _: u64) -> u8 {
        let class = victim.generation.checked_sub(1).unwrap_or(victim.class);
        (class + 1).min(CLASSES - 1)
    }

    fn resume(&mut self, saved: Self, now: u64) -> Result<(), String> {
        let most = now.max(self.all >> FADE_ALL).min(u32::MAX.into());
        let lives = saved.pages.iter().map(|average| u64::from(*average));
        if saved.pages.len() != self.pages.len() || saved.class >= CLASSES {
            return Err("averages of another device".to_owned());
        }
        if lives.max() > Some(most) || saved.all >> FADE_ALL > most {
            return Err(format!("lives of more than {most} pages"));
        }
        *self = saved;
        Ok(())
    }
}
