//! Host requests with the work that a device reports for them, from a small log-structured device.

use std::collections::VecDeque;

use proptest::prelude::*;
use wafer_interface::{Cause, MediaWork, RuId, RuhId};
use wafer_media::{Kind, Request, Shape};

/// A command of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Read {
        page: u64,
        pages: u32,
    },
    Write {
        page: u64,
        pages: u32,
        handle: usize,
        partial: bool,
        durable: bool,
    },
    Flush,
    /// Closes the reclaim unit of a handle before it is full.
    Update {
        handle: usize,
    },
}

const HANDLES: usize = 2;
/// Capacity of the SLC cache in pages.
const MOST_CACHED: u32 = 25;

/// Nanoseconds since the previous action, and the action. Pages are few, so that reads hit the write buffer.
pub(crate) fn actions() -> impl Strategy<Value = Vec<(u64, Action)>> {
    let gap = prop_oneof![3 => Just(0), 3 => 0..3_000u64, 3 => 0..60_000u64, 1 => 0..900_000u64];
    let page = prop_oneof![0..24u64, 0..4000u64];
    let action = prop_oneof![
        6 => (page.clone(), 1..20u32).prop_map(|(page, pages)| Action::Read { page, pages }),
        8 => (page, 1..12u32, 0..HANDLES, any::<bool>(), prop::bool::weighted(0.1))
            .prop_map(|(page, pages, handle, partial, durable)| Action::Write { page, pages, handle, partial, durable }),
        1 => Just(Action::Flush),
        1 => (0..HANDLES).prop_map(|handle| Action::Update { handle }),
    ];
    prop::collection::vec((gap, action), 1..220)
}

/// A device that reports its work.
struct Device {
    shape: Shape,
    free: VecDeque<RuId>,
    closed: VecDeque<RuId>,
    /// The open reclaim units of the handles and of relocation, with their number of pages.
    open: [(RuId, u32); HANDLES + 1],
    collected: u32,
    /// Pages in the SLC cache; `None` without a cache.
    cached: Option<u32>,
    work: Vec<MediaWork>,
}

impl Device {
    fn new(shape: Shape, has_cache: bool) -> Self {
        let mut free: VecDeque<RuId> = (0..shape.ru_count).map(RuId).collect();
        let open = std::array::from_fn(|_| (free.pop_front().unwrap(), 0));
        let cached = has_cache.then_some(0);
        Device {
            shape,
            free,
            closed: VecDeque::new(),
            open,
            collected: 0,
            cached,
            work: Vec::new(),
        }
    }

    fn close(&mut self, handle: usize) {
        let (ru, written) = self.open[handle];
        self.work.push(MediaWork::Parity { ru, pages: written / 5 + 1 });
        self.closed.push_back(ru);
        self.open[handle] = (self.free.pop_front().unwrap(), 0);
    }

    fn program(&mut self, handle: usize, mut pages: u32, cause: Cause) {
        while pages > 0 {
            let (ru, first) = self.open[handle];
            let count = pages.min(self.shape.pages_per_ru - first);
            self.work.push(MediaWork::Program { ru, first, pages: count, cause });
            self.open[handle].1 += count;
            pages -= count;
            if first + count == self.shape.pages_per_ru {
                self.close(handle);
            }
        }
    }

    fn collect(&mut self) {
        while self.free.len() < 4 {
            self.relocate();
        }
    }

    /// Moves the data of the oldest closed reclaim unit.
    fn relocate(&mut self) {
        if let Some(victim) = self.closed.pop_front() {
            self.collected += 1;
            // From none to nearly all, and now and then a single page.
            let valid = match self.collected % 3 {
                1 => 1,
                _ => self.collected * 7919 % 100 * (self.shape.pages_per_ru - 1) / 100,
            };
            let cause = Cause::Relocation { victim };
            if valid > 0 {
                self.work.push(MediaWork::Read { ru: victim, first: 0, pages: valid, cause });
                self.program(HANDLES, valid, cause);
            }
            self.work.push(MediaWork::Erase { ru: victim });
            self.free.push_back(victim);
        }
    }

    /// Writes for a host, through the cache if there is one. As many pages need not leave it as enter.
    fn write(&mut self, handle: usize, pages: u32) {
        let mut leaving = pages;
        if let Some(cached) = &mut self.cached {
            self.work.push(MediaWork::CacheProgram { pages });
            *cached += pages;
            leaving = cached.saturating_sub(MOST_CACHED);
            *cached -= leaving;
            if leaving > 0 {
                self.work.push(MediaWork::Fold { pages: leaving });
            }
        }
        self.program(handle, leaving, Cause::HostWrite(RuhId(handle as u16)));
    }

    /// Reads and programs parts of the map, for some pages.
    fn translate(&mut self, page: u64) {
        if page % 5 < 2 {
            let (reads, programs) = ((page % 3) as u32, (page % 7) as u32);
            self.work.push(MediaWork::Map { reads, programs });
        }
    }

    /// Reads a range of pages in two reclaim units; every seventh page was never written.
    fn read(&mut self, page: u64, pages: u32, cause: Cause) {
        let mut at = page;
        while at < page + u64::from(pages) {
            let end = (at / 7 * 7 + 6).min(page + u64::from(pages));
            if end > at {
                let ru = RuId((at / 5 % u64::from(self.shape.ru_count)) as u32);
                let (first, pages) = (at, (end - at) as u32);
                self.work.push(match self.cached {
                    Some(_) if cause == Cause::HostRead && at.is_multiple_of(3) => {
                        MediaWork::CacheRead { first, pages }
                    }
                    _ => MediaWork::Read { ru, first, pages, cause },
                });
            }
            at = end.max(at) + 1;
        }
    }
}

/// Returns the requests of the actions, each with its work.
pub(crate) fn requests(
    shape: Shape,
    has_cache: bool,
    actions: &[(u64, Action)],
) -> Vec<(Request, Vec<MediaWork>)> {
    let mut device = Device::new(shape, has_cache);
    let mut submitted = 0;
    let mut requests = Vec::new();
    for (ticket, (gap, action)) in (0..).zip(actions) {
        submitted += gap;
        let (kind, page, pages) = match *action {
            Action::Read { page, pages } => {
                device.translate(page);
                device.read(page, pages, Cause::HostRead);
                // As if read disturb had worn a reclaim unit.
                if page.is_multiple_of(11) {
                    device.relocate();
                }
                (Kind::Read, page, pages)
            }
            Action::Write { page, pages, handle, partial, .. } => {
                let ruh = RuhId(handle as u16);
                if partial && device.cached.is_some() && page.is_multiple_of(2) {
                    device.work.push(MediaWork::CacheRead { first: page, pages: 1 });
                } else if partial {
                    device.read(page, 1, Cause::ReadModifyWrite(ruh));
                }
                device.write(handle, pages);
                device.translate(page);
                device.collect();
                (Kind::Write, page, pages)
            }
            Action::Flush => (Kind::Flush, 0, 0),
            Action::Update { handle } => {
                if device.open[handle].1 > 0 {
                    device.close(handle);
                }
                device.collect();
                (Kind::Other, 0, 0)
            }
        };
        let bytes = u64::from(pages) * shape.page_bytes;
        let durable = matches!(action, Action::Write { durable: true, .. });
        let queue = (ticket % 5 % 3) as u16;
        let request = Request { ticket, submitted, kind, page, pages, bytes, durable, queue };
        requests.push((request, std::mem::take(&mut device.work)));
    }
    requests
}
