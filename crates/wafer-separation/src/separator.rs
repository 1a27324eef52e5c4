//! The interface of a separation rule, and the information that it gets.

use crate::content::Content;

/// Properties of a reclaim unit that is collected.
#[derive(Clone, Copy, Debug)]
pub struct Victim {
    /// Class of host writes; 0 for relocated data.
    pub class: u8,
    /// 1 + the class of relocated data; 0 for host writes.
    pub generation: u8,
    /// Host pages written to the device since it was closed.
    pub age: u64,
    /// Host pages written to the device since it was opened.
    pub existed: u64,
    /// Predicted death time of its data; 0: unknown.
    pub death_time: u64,
}

/// The sizes that rules depend on.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Number of logical pages of the device.
    pub logical_pages: u64,
    /// Number of reclaim unit handles.
    pub handles: u16,
    /// Maximum number of split handles.
    pub split_handles: u16,
    /// Number of classes of relocated data.
    pub relocated_classes: u8,
}

/// A separation rule with its learned state. Times are in host pages written to the device.
///
/// Dispatch is static: the device matches on the rule once for each page, and the rule's code is inlined.
pub trait Separator: Sized {
    /// Number of open reclaim units of a handle for host writes.
    const HOST_CLASSES: u8;
    /// Whether the rule splits every handle at all times.
    const SPLITS_ALL: bool = true;

    /// Returns the number of open reclaim units of a handle for relocated data; `generations` is `gc.generations`.
    fn relocated_classes(generations: u8) -> u8;

    /// Creates the rule, which has learned nothing yet.
    fn new(sizes: &Sizes) -> Self;

    /// Returns whether the pages of a handle go to several open reclaim units.
    #[inline(always)]
    fn splits(&self, _handle: u32) -> bool {
        Self::SPLITS_ALL
    }

    /// Learns from the first page of a segment that a host begins, and predicts the death time of the
    /// segment; 0: unknown.
    #[inline(always)]
    fn begin_segment(&mut self, _handle: u32, _old: Option<impl Content>, _now: u64) -> u64 {
        0
    }

    /// Learns from a page that a host writes, before its class is requested; `old` is the content that it replaces.
    #[inline(always)]
    fn write(&mut self, _page: u64, _handle: u32, _old: Option<impl Content>) {}

    /// Returns the class of a written page, and its predicted death time; `old` is the content that it replaces. Before
    /// any page was written, this is the class of a page of unknown lifetime.
    fn host_class(&self, handle: u32, old: Option<impl Content>, now: u64) -> (u8, u64);

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
