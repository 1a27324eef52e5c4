//! The write buffer and the SLC cache, where host writes wait before they reach the reclaim units.
//!
//! Host bytes are counted when a command arrives, everything else when a page leaves the last cache: to the rest of the
//! device, that page is a host write. A reclaim unit update first drains the caches, so that none of their pages enters
//! the new unit.

use std::ops::Range;

use crate::device::Device;
use wafer_interface::{Cause, Command, LBA_BYTES, MediaWork, Observer, Op, RuhId};
use wafer_write_cache::{Kind, WriteCache};

impl<O: Observer> Device<O> {
    #[cold]
    pub(crate) fn apply_cached(&mut self, commands: &[Command]) {
        let mut caches = std::mem::take(&mut self.caches);
        // Writes that leave a cache were accepted earlier.
        let refuses = std::mem::replace(&mut self.refuses, false);
        for command in commands {
            if refuses && self.read_only && !matches!(command.op, Op::Read | Op::Flush) {
                self.counters.commands += 1;
                self.counters.rejected += 1;
            } else {
                self.apply_to(&mut caches, command);
            }
        }
        self.refuses = refuses;
        self.caches = caches;
    }

    fn apply_to(&mut self, caches: &mut [WriteCache], command: &Command) {
        let blocks = u64::from(command.blocks);
        let namespace = self.namespaces.get(usize::from(command.namespace.0));
        let within =
            namespace.is_some_and(|n| command.lba <= n.blocks && blocks <= n.blocks - command.lba);
        let changes = within && blocks > 0;
        match command.op {
            Op::Write if changes => {
                self.counters.commands += 1;
                self.count_host_bytes(command, u64::wrapping_add);
                self.pass(caches, vec![*command]);
            }
            Op::Deallocate if changes => {
                let first = self.namespaces[command.namespace.index()].first_page;
                for at in 0..caches.len() {
                    let (cache, later) = caches[at..].split_first_mut().expect("within");
                    cache.deallocate(command, |page| {
                        // Each page is counted once, where a read would find it.
                        let below = later.iter().any(|cache| cache.waits(command.namespace, page));
                        let mapped = self.map.as_slice()[(first + page) as usize] != 0;
                        self.counters.deallocated_pages += u64::from(!below && !mapped);
                    });
                }
                self.apply_behind(std::slice::from_ref(command));
            }
            Op::Read
                if changes
                    && (self.observer.wants_media()
                        || self.maintenance.is_some()
                        || self.translated.is_some()) =>
            {
                self.counters.commands += 1;
                self.counters.read_bytes += blocks * LBA_BYTES;
                let size = self.geometry.blocks_per_page();
                let pages = command.lba / size..(command.lba + blocks).div_ceil(size);
                let first = self.namespaces[command.namespace.index()].first_page;
                // A run of pages in the SLC cache.
                let mut run = first + pages.start..first + pages.start;
                for page in pages {
                    let holder = caches.iter().find(|cache| cache.holds(command.namespace, page));
                    let at = first + page;
                    match holder.map(WriteCache::kind) {
                        Some(Kind::Log) if run.end == at => run.end += 1,
                        Some(Kind::Log) => {
                            self.report_cache_read(&run);
                            run = at..at + 1;
                        }
                        Some(Kind::Buffer) => {}
                        None => {
                            self.translate(at, 1, false);
                            self.read_pages(at, 1, Cause::HostRead);
                        }
                    }
                }
                self.report_cache_read(&run);
            }
            Op::Update if within => {
                let mut out = Vec::new();
                for at in 0..caches.len() {
                    caches[at].drain(&mut out);
                    self.report_fold(caches[at].kind(), &out);
                    self.pass(&mut caches[at + 1..], std::mem::take(&mut out));
                }
                self.apply_behind(std::slice::from_ref(command));
            }
            _ => self.apply_behind(std::slice::from_ref(command)),
        }
    }

    /// Passes writes through caches to the reclaim units.
    fn pass(&mut self, caches: &mut [WriteCache], mut writes: Vec<Command>) {
        for cache in caches {
            let mut out = Vec::new();
            for write in &writes {
                self.report_partial_writes(cache, write);
                let (programmed, in_part) = cache.write(write, &mut out);
                self.counters.cache_pages += programmed;
                self.counters.rmw_pages += in_part;
                self.counters.media_bytes += programmed * self.geometry.page_bytes;
                if self.observer.wants_media() && programmed > 0 {
                    let pages = programmed as u32;
                    self.observer.media(&MediaWork::CacheProgram { pages });
                }
            }
            self.report_fold(cache.kind(), &out);
            writes = out;
        }
        if !writes.is_empty() {
            self.apply_behind(&writes);
            self.counters.commands -= writes.len() as u64;
            writes.iter().for_each(|write| self.count_host_bytes(write, u64::wrapping_sub));
        }
    }

    /// Reports the read of a run of pages of the SLC cache for a host.
    fn report_cache_read(&mut self, pages: &Range<u64>) {
        if self.observer.wants_media() && !pages.is_empty() {
            let (first, pages) = (pages.start, (pages.end - pages.start) as u32);
            self.observer.media(&MediaWork::CacheRead { first, pages });
        }
    }

    /// Reports the reads that complete partly written pages, because a flash cache programs whole pages.
    fn report_partial_writes(&mut self, cache: &WriteCache, write: &Command) {
        if !self.observer.wants_media() || cache.kind() != Kind::Log {
            return;
        }
        let size = self.geometry.blocks_per_page();
        let end = write.lba + u64::from(write.blocks);
        let (first, last) = (write.lba / size, (end - 1) / size);
        let is_part = |page: u64| write.lba > page * size || end < (page + 1) * size;
        let edges = [Some(first), Some(last).filter(|last| *last > first)];
        let namespace = &self.namespaces[write.namespace.index()];
        let (start, slot) = (namespace.first_page, namespace.slots[0]);
        let slot = self.defined_slot(write.namespace, write.placement).unwrap_or(slot);
        let cause = Cause::ReadModifyWrite(RuhId(self.handle_of(slot) as u16));
        for page in edges.into_iter().flatten().filter(|page| is_part(*page)) {
            let at = start + page;
            match cache.holds(write.namespace, page) {
                true => self.observer.media(&MediaWork::CacheRead { first: at, pages: 1 }),
                false => self.report_reads(at, 1, cause),
            }
        }
    }

    /// Reports that writes leave a cache, if it is a flash cache.
    fn report_fold(&mut self, kind: Kind, writes: &[Command]) {
        if self.observer.wants_media() && kind == Kind::Log && !writes.is_empty() {
            let size = self.geometry.blocks_per_page();
            let pages = |c: &Command| (c.lba + u64::from(c.blocks)).div_ceil(size) - c.lba / size;
            let pages = writes.iter().map(pages).sum::<u64>() as u32;
            self.observer.media(&MediaWork::Fold { pages });
        }
    }

    /// Adds the bytes of a write to the counts of device and handle, or subtracts them.
    fn count_host_bytes(&mut self, write: &Command, count: fn(u64, u64) -> u64) {
        let slot = self.defined_slot(write.namespace, write.placement);
        let slot = slot.unwrap_or(self.namespaces[write.namespace.index()].slots[0]);
        let handle = self.handle_of(slot) as usize;
        for bytes in [&mut self.counters.host_bytes, &mut self.handles[handle].host_bytes] {
            *bytes = count(*bytes, write.bytes());
        }
    }
}
