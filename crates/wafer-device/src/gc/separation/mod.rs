//! Separation inside the drive: pages that are likely to be invalidated at about the same time are
//! written together, within the data of each handle, without hints from the host.
//!
//! A written page is known by how long its previous content lived: the host pages written between that
//! write and this one. The device takes it from the birth of the segment that held the page, so it is
//! precise to 1/64 reclaim unit. It costs 16 bytes a segment and a look at the map for each page, only
//! where separation is on. Relocated pages are separated by what is known of their reclaim unit.
//!
//! To add a rule: copy a file of this folder, implement [`Separator`], and name the file twice here, in a
//! `mod` line and in the table.

pub(crate) mod death_time;
mod lifespan;
mod midas;
mod multi_log;
mod sepbit;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flash::segment::Content;

/// What is known of a reclaim unit that is collected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Victim {
    /// Class of what the host wrote; 0 for relocated data.
    pub(crate) class: u8,
    /// 1 + the class of relocated data; 0 for what the host wrote.
    pub(crate) generation: u8,
    /// Host pages written to the device since it was closed.
    pub(crate) age: u64,
    /// Predicted death time of its data; 0: unknown.
    pub(crate) death_time: u64,
}

/// The sizes that rules depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) logical_pages: u64,
    pub(crate) handles: u16,
    /// Handles that may be split at a time.
    pub(crate) split_handles: u16,
    /// Classes of relocated data.
    pub(crate) relocated_classes: u8,
}

/// A rule of separation with what it has learned. Times are in host pages written to the device.
///
/// Dispatch is static: the device matches on the rule once a page and the rule's code is inlined.
pub(crate) trait Separator: Sized {
    /// Open reclaim units of a handle for what the host writes.
    const HOST_CLASSES: u8;
    /// Whether the rule splits every handle at all times.
    const SPLITS_ALL: bool = true;

    /// Returns the open reclaim units of a handle for relocated data; `generations` is
    /// `gc.generations`.
    fn relocated_classes(generations: u8) -> u8;

    /// Creates the rule, knowing nothing yet.
    fn new(sizes: &Sizes) -> Self;

    /// Returns whether the pages of a handle go to several open reclaim units.
    #[inline(always)]
    fn splits(&self, _handle: u32) -> bool {
        Self::SPLITS_ALL
    }

    /// Learns from the first page of a segment that a host begins, and predicts the death time of the
    /// segment; 0: unknown.
    #[inline(always)]
    fn begin_segment(&mut self, _handle: u32, _old: Option<Content<'_>>, _now: u64) -> u64 {
        0
    }

    /// Returns the class of a written page, and its predicted death time; `old` is the content that it
    /// replaces.
    fn host_class(&self, handle: u32, old: Option<Content<'_>>, now: u64) -> (u8, u64);

    /// Learns from a collection, and returns the class of the victim's valid pages.
    fn collect(&mut self, victim: &Victim, now: u64) -> u8;

    /// Returns whether relocated data of this generation is grouped by death time.
    fn is_grouped(&self, _generation: u8) -> bool {
        false
    }

    /// Continues from what a saved rule had learned, after checking it.
    ///
    /// # Errors
    /// A value that no device of these sizes can have at the time `now`.
    fn resume(&mut self, _saved: Self, _now: u64) -> Result<(), String> {
        Ok(())
    }
}

/// Makes the configuration's enumeration, the rule in force, and the static dispatch between them.
macro_rules! separations {
    ($($(#[$doc:meta])* $name:ident => $rule:ty,)*) => {
        /// How a drive separates data of different lifespan by itself, within the data of each handle.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum Separation {
            $($(#[$doc])* $name,)*
        }

        /// The rule in force.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub(crate) enum Rule {
            $($name($rule),)*
        }

        impl Separation {
            pub(crate) fn host_classes(self) -> u8 {
                match self { $(Separation::$name => <$rule>::HOST_CLASSES,)* }
            }

            pub(crate) fn relocated_classes(self, generations: u8) -> u8 {
                match self {
                    $(Separation::$name => <$rule>::relocated_classes(generations),)*
                }
            }

            pub(crate) fn rule(self, sizes: &Sizes) -> Rule {
                match self { $(Separation::$name => Rule::$name(<$rule>::new(sizes)),)* }
            }
        }

        impl Rule {
            #[inline(always)]
            pub(crate) fn splits_all(&self) -> bool {
                match self { $(Rule::$name(_) => <$rule>::SPLITS_ALL,)* }
            }

            #[inline(always)]
            pub(crate) fn splits(&self, handle: u32) -> bool {
                match self { $(Rule::$name(rule) => rule.splits(handle),)* }
            }

            #[inline(always)]
            pub(crate) fn begin_segment(
                &mut self,
                handle: u32,
                old: Option<Content<'_>>,
                now: u64,
            ) -> u64 {
                match self { $(Rule::$name(rule) => rule.begin_segment(handle, old, now),)* }
            }

            #[inline(always)]
            pub(crate) fn host_class(
                &self,
                handle: u32,
                old: Option<Content<'_>>,
                now: u64,
            ) -> (u8, u64) {
                match self { $(Rule::$name(rule) => rule.host_class(handle, old, now),)* }
            }

            pub(crate) fn collect(&mut self, victim: &Victim, now: u64) -> u8 {
                match self { $(Rule::$name(rule) => rule.collect(victim, now),)* }
            }

            pub(crate) fn is_grouped(&self, generation: u8) -> bool {
                match self { $(Rule::$name(rule) => rule.is_grouped(generation),)* }
            }

            pub(crate) fn resume(&mut self, saved: Rule, now: u64) -> Result<(), String> {
                match (self, saved) {
                    $((Rule::$name(rule), Rule::$name(saved)) => rule.resume(saved, now),)*
                    _ => Err("another rule than the configuration's".to_owned()),
                }
            }
        }
    };
}

separations! {
    /// Written pages in two classes, by whether their last content lived longer than reclaim units of the
    /// short-lived class do; relocated ones in four, by age (SepBIT, FAST '22; ages are those of
    /// reclaim units, not pages).
    Sepbit => sepbit::SepBit,
    /// Written pages in the two classes of `sepbit`, relocated ones in four by how often they were moved
    /// (after MiDAS, FAST '24, without its sizing of groups).
    Midas => midas::Midas,
    /// Written pages in four classes a factor of four apart, by how long their last content lived;
    /// relocated ones stay in their class (after multi-log, Stoica and Ailamaki, VLDB '13).
    MultiLog => multi_log::MultiLog,
    /// Pages that overwrite data of a regular stream before its time, by when it will pass there; relocated
    /// ones of these apart, others by up to `gc.generations`. Only handles that do so are split, and as many
    /// as the spare reclaim units allow. The policy may ask for it.
    DeathTime => death_time::DeathTimes,
}
