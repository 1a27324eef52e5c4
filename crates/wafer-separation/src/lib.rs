//! Separation inside the drive: within the data of each handle, pages that are likely to be invalidated at about the
//! same time are written together, without hints from the host.
//!
//! A written page is classified by how long its previous content lived: the host pages written between that write and
//! this one. The device takes that from the birth of the segment that held the page, so it is precise to 1/64 reclaim
//! unit. This costs 16 bytes for each segment and a map lookup for each page, only if separation is on. Relocated pages
//! are separated by properties of their reclaim unit.
//!
//! To add a rule, copy a file of this crate, implement [`Separator`], and name the file twice here: in a `mod` line and
//! in the table.

mod autostream;
mod content;
mod dac;
pub mod death_time;
mod fadac;
mod lifespan;
mod midas;
mod multi_log;
mod separator;
mod sepbit;
#[cfg(test)]
mod tests;
mod warcip;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use autostream::AutoStream;
pub use content::Content;
pub use separator::{Separator, Sizes, Victim};

/// Defines the configuration's enumeration, the rule in force, and the static dispatch between them.
macro_rules! separations {
    ($($(#[$doc:meta])* $name:ident => $rule:ty,)*) => {
        /// How a drive separates data of different lifespans within each handle, without hints.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum Separation {
            $($(#[$doc])* $name,)*
        }

        /// The rule in force.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub enum Rule {
            $($(#[$doc])* $name($rule),)*
        }

        impl Separation {
            /// Returns the number of open reclaim units of a handle for host writes.
            pub fn host_classes(self) -> u8 {
                match self { $(Separation::$name => <$rule>::HOST_CLASSES,)* }
            }

            /// Returns the number of open reclaim units of a handle for relocated data; `generations` is
            /// `gc.generations`.
            pub fn relocated_classes(self, generations: u8) -> u8 {
                match self {
                    $(Separation::$name => <$rule>::relocated_classes(generations),)*
                }
            }

            /// Returns the rule, which has learned nothing yet.
            pub fn rule(self, sizes: &Sizes) -> Rule {
                match self { $(Separation::$name => Rule::$name(<$rule>::new(sizes)),)* }
            }
        }

        impl Rule {
            /// Returns whether the rule splits every handle at all times.
            #[inline(always)]
            pub fn splits_all(&self) -> bool {
                match self { $(Rule::$name(_) => <$rule>::SPLITS_ALL,)* }
            }

            /// Returns whether the pages of a handle go to several open reclaim units.
            #[inline(always)]
            pub fn splits(&self, handle: u32) -> bool {
                match self { $(Rule::$name(rule) => rule.splits(handle),)* }
            }

            /// Learns from the first page of a segment that a host begins, and predicts the death time of the
            /// segment; 0: unknown.
            #[inline(always)]
            pub fn begin_segment(
                &mut self,
                handle: u32,
                old: Option<impl Content>,
                now: u64,
            ) -> u64 {
                match self { $(Rule::$name(rule) => rule.begin_segment(handle, old, now),)* }
            }

            /// Learns from a page that a host writes, before its class is requested; `old` is the content that it
            /// replaces.
            #[inline(always)]
            pub fn write(&mut self, page: u64, handle: u32, old: Option<impl Content>) {
                match self { $(Rule::$name(rule) => rule.write(page, handle, old),)* }
            }

            /// Returns the class of a written page, and its predicted death time; `old` is the content that it
            /// replaces.
            #[inline(always)]
            pub fn host_class(
                &self,
                handle: u32,
                old: Option<impl Content>,
                now: u64,
            ) -> (u8, u64) {
                match self { $(Rule::$name(rule) => rule.host_class(handle, old, now),)* }
            }

            /// Learns from a collection, and returns the class of the victim's valid pages.
            pub fn collect(&mut self, victim: &Victim, now: u64) -> u8 {
                match self { $(Rule::$name(rule) => rule.collect(victim, now),)* }
            }

            /// Returns whether relocated data of this generation is grouped by death time.
            pub fn is_grouped(&self, generation: u8) -> bool {
                match self { $(Rule::$name(rule) => rule.is_grouped(generation),)* }
            }

            /// Continues from what a saved rule had learned, after checking it.
            ///
            /// # Errors
            /// Another rule, or a value that no device of these sizes can have at the time `now`.
            pub fn resume(&mut self, saved: Rule, now: u64) -> Result<(), String> {
                match (self, saved) {
                    $((Rule::$name(rule), Rule::$name(saved)) => rule.resume(saved, now),)*
                    _ => Err("another rule than the configuration's".to_owned()),
                }
            }
        }
    };
}

separations! {
    /// Written pages in two classes, by whether their last content outlived the reclaim units of the short-lived class;
    /// relocated pages in four, by age (SepBIT, FAST '22; lifespans and ages count from the opening of reclaim units,
    /// as pages have no ages of their own).
    Sepbit => sepbit::SepBit,
    /// Written pages in the two classes of `sepbit`, relocated pages in four by how often they were relocated (after
    /// MiDAS, FAST '24, whose sizing of groups is `gc.policy = "midas"`).
    Midas => midas::Midas,
    /// Written pages in four classes a factor of four apart, by how long their last content lived; relocated pages stay
    /// in their class (after multi-log, Stoica and Ailamaki, VLDB '13).
    MultiLog => multi_log::MultiLog,
    /// Pages in six regions: a written page goes to the region above that of its last content, a relocated page to the
    /// region below (DAC, Chiang, Lee and Chang, 1999).
    Dac => dac::Dac,
    /// Written pages in five clusters, each in the one whose centre is nearest to how long its last content lived;
    /// relocated pages move to the next longer-lived cluster (after WARCIP, SYSTOR '19, without splitting and merging
    /// clusters).
    Warcip => warcip::Warcip,
    /// Written pages in six streams, by how often and how recently their chunk of up to 256 pages was written;
    /// relocated pages stay in their stream (AutoStream's SFR, SYSTOR '17).
    AutoStream => autostream::AutoStream,
    /// Written pages in six classes, by the fading average of how long their contents lived, around that of all pages;
    /// relocated pages move to the next longer-lived class (after FADaC, SYSTOR '19).
    Fadac => fadac::Fadac,
    /// Pages that overwrite a regular stream's data early are grouped by when that stream will return; when relocated,
    /// they stay apart from others, which go by generation, up to `gc.generations`. Only handles with such pages are
    /// split, as many as the spare reclaim units allow. The policy may request it.
    DeathTime => death_time::DeathTimes,
}
