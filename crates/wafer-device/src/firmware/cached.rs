//! The write buffer and the SLC cache: what hosts write waits there before it reaches the reclaim units.
//!
//! Host bytes are counted when a command arrives, everything else when a page leaves the last cache: to the rest of
//! the device a page that leaves is a host's write. A reclaim unit update lets all pages leave first, so that none
//! of them enters the new unit.

use crate::device::Device;
use crate::geometry::Geometry;
use wafer_interface::{Cause, Command, LBA_BYTES, Observer, Op};
use wafer_write_cache::{Kind, WriteCache};

/// The caches of a device in the order in which pages pass through them.
pub(crate) fn caches(geometry: &Geometry) -> Vec<WriteCache> {
    let firmware = &geometry.firmware;
    [(Kind::Buffer, firmware.write_buffer), (Kind::Log, firmware.slc_cache)]
        .into_iter()
        .filter(|(_, size)| size.0 > 0)
        .map(|(kind, size)| {
            WriteCache::new(kind, size.0 / geometry.page_bytes, geometry.blocks_per_page())
        })
        .collect()
}

impl<O: Observer> Device<O> {
    /// Applies commands to a device with caches.
    #[cold]
    pub(crate) fn apply_cached(&mut self, commands: &[Command]) {
        let mut caches = std::mem::take(&mut self.caches);
        // What leaves a cache was accepted before.
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
                        // Counted once, where it would be found.
                        let below = later.iter().any(|cache| cache.waits(command.namespace, page));
                        let mapped = self.map.as_slice()[(first + page) as usize] != 0;
                        self.counters.deallocated_pages += u64::from(!below && !mapped);
                    });
                }
                self.apply_behind(std::slice::from_ref(command));
            }
            Op::Read
                if changes
                    && (O::MEDIA || self.maintenance.is_some() || self.translated.is_some()) =>
            {
                self.counters.commands += 1;
                self.counters.read_bytes += blocks * LBA_BYTES;
                let size = self.geometry.blocks_per_page();
                let pages = command.lba / size..(command.lba + blocks).div_ceil(size);
                let first = self.namespaces[command.namespace.index()].first_page;
                for page in pages {
                    if !caches.iter().any(|cache| cache.holds(command.namespace, page)) {
                        self.translate(first + page, 1, false);
                        self.read_pages(first + page, 1, Cause::HostRead);
                    }
                }
            }
            Op::Update if within => {
                let mut out = Vec::new();
                for at in 0..caches.len() {
                    caches[at].drain(&mut out);
                    self.pass(&mut caches[at + 1..], std::mem::take(&mut out));
                }
                self.apply_behind(std::slice::from_ref(command));
            }
            _ => self.apply_behind(std::slice::from_ref(command)),
        }
    }

    /// Lets writes pass through caches to the reclaim units.
    fn pass(&mut self, caches: &mut [WriteCache], mut writes: Vec<Command>) {
        for cache in caches {
            let mut out = Vec::new();
            for write in &writes {
                let (programmed, in_part) = cache.write(write, &mut out);
                self.counters.cache_pages += programmed;
                self.counters.rmw_pages += in_part;
                self.counters.media_bytes += programmed * self.geometry.page_bytes;
            }
            writes = out;
        }
        if !writes.is_empty() {
            self.apply_behind(&writes);
            self.counters.commands -= writes.len() as u64;
            writes.iter().for_each(|write| self.count_host_bytes(write, u64::wrapping_sub));
        }
    }

    /// Counts the bytes of a write at its handle, or takes them back.
    fn count_host_bytes(&mut self, write: &Command, count: fn(u64, u64) -> u64) {
        let slot = self.defined_slot(write.namespace, write.placement);
        let slot = slot.unwrap_or(self.namespaces[write.namespace.index()].slots[0]);
        let handle = self.handle_of(slot) as usize;
        for bytes in [&mut self.counters.host_bytes, &mut self.handles[handle].host_bytes] {
            *bytes = count(*bytes, write.bytes());
        }
    }
}
