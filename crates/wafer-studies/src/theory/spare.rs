//! Spare pages: the T of all forms under the collection rules of `wafer_device`.
//!
//! The forms assume that all reclaim units (RUs) are full when a victim is chosen. In a real device some
//! are empty at that moment; their pages are not spare and lower T. Which ones are empty follows from
//! the time of collection. Forced GC runs in a group while at most `f` of its RUs are free,
//! `f = max(floor(gc.forced_free * count), 1)` ([`Geometry::forced_free`]). It runs each time a handle
//! gets its next RU, and at no other time. In steady state:
//!
//! 1. A handle's RU fills and closes while `f + 1` are free.
//! 2. The handle opens one of them: `f` are free, and GC begins.
//! 3. A victim is chosen. Its valid pages are relocated and it is erased. If that took a new RU for
//!    relocated data, `f` are free again and the next victim is chosen. Otherwise `f + 1` are free and
//!    GC ends.
//!
//! So **whenever a victim is chosen, exactly `f` RUs are free and one more, just opened by the host, is
//! empty**. Open RUs of *other* handles are half empty on average, and so is each open RU for relocated
//! data. Open RUs of idle handles are empty. Closed RUs are full:
//!
//! `T = b * (count - f - 1 - (written - 1) / 2 - idle - relocation / 2)`.
//!
//! In one shared log (`fdp = false`, `gc.separate = false`) there is no RU for relocated data: the
//! victim's pages go to the RU just opened, and `T = b * (count - f - 1)`.
//!
//! FIFO in a shared log collects pages by age, so the position of a page in its RU matters. Relocated
//! pages begin an RU and spend the time of exactly `count - f - 1` RUs in the log. Host pages, `1/A` of
//! all, follow one by one while the RU fills and spend half an RU's time less on average. So
//! [`Spare::fifo_pages`] is `T - b / (2 A)`.
//!
//! Background GC is left out: at its default limit of 5 % valid pages it finds no victim under this
//! traffic.

use wafer_device::{Geometry, Isolation, Layout, Relocation};

/// Reclaim units of one group at the moment a victim is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// Reclaim units of the group.
    pub ru_count: u32,
    /// Pages of each.
    pub pages_per_ru: u32,
    /// Free ones: `f` above.
    pub free: u32,
    /// Number of handles that are written.
    pub written: u32,
    /// Number of idle handles, each with an empty open RU.
    pub idle: u32,
    /// Number of open RUs for relocated data.
    pub relocation: u32,
}

impl Spare {
    /// Returns the spare of a reclaim group when only the handles `written` are written.
    ///
    /// `None` if there is no such group or handle, or `written` is empty.
    pub fn of(
        (geometry, layout): &(Geometry, Layout),
        group: u16,
        written: &[u16],
    ) -> Option<Spare> {
        let isolation = |handle: &u16| geometry.isolation.get(usize::from(*handle)).copied();
        let mut written = written.to_vec();
        written.sort_unstable();
        written.dedup();
        let kinds: Vec<Isolation> = written.iter().map(isolation).collect::<Option<_>>()?;
        if group >= geometry.groups || kinds.is_empty() {
            return None;
        }
        let persistent = kinds.iter().filter(|i| **i == Isolation::Persistently).count() as u32;
        let count = kinds.len() as u32;
        let range = geometry.group_range(group);
        let ru_count = range.end - range.start;
        Some(Spare {
            ru_count,
            pages_per_ru: geometry.pages_per_ru,
            free: geometry.forced_free(ru_count),
            written: count,
            idle: u32::from(geometry.handles).saturating_sub(count),
            relocation: match layout.relocation {
                Relocation::Shared => 0,
                Relocation::ByIsolation | Relocation::ByWriter => {
                    persistent + u32::from(persistent < count)
                }
                Relocation::ByHandle(generations) => count * u32::from(generations),
            },
        })
    }

    /// Returns the empty pages when a victim is chosen, in reclaim units.
    pub fn empty_rus(&self) -> f64 {
        let halves = self.written.saturating_sub(1) + self.relocation;
        f64::from(self.free) + 1.0 + f64::from(self.idle) + f64::from(halves) / 2.0
    }

    /// Returns T, the physical pages that can hold data.
    pub fn physical_pages(&self) -> f64 {
        (f64::from(self.ru_count) - self.empty_rus()) * f64::from(self.pages_per_ru)
    }

    /// Returns T for FIFO in a shared log with this WAF.
    pub fn fifo_pages(&self, waf: f64) -> f64 {
        self.physical_pages() - f64::from(self.pages_per_ru) / (2.0 * waf)
    }

    /// Returns the effective over-provisioning for this many logical pages; `None` without spare pages.
    pub fn op(&self, logical_pages: f64) -> Option<f64> {
        let op = self.physical_pages() / logical_pages - 1.0;
        super::positive(op).then_some(op)
    }
}

#[cfg(test)]
mod tests {
    use wafer_device::DeviceConfig;

    use super::*;

    fn resolved(text: &str) -> (Geometry, Layout) {
        let text = format!("capacity = \"800MiB\"\nreclaim_unit.size = \"1MiB\"\n{text}");
        toml::from_str::<DeviceConfig>(&text).unwrap().resolve().unwrap()
    }

    #[test]
    fn one_log() {
        let g = resolved(
            "reclaim_unit.count = 1000\nfdp = false\ngc.forced_free = 0.0\ngc.separate = false",
        );
        let spare = Spare::of(&g, 0, &[0]).unwrap();
        assert_eq!(spare.empty_rus(), 2.0);
        assert_eq!(spare.physical_pages(), 998.0 * 256.0);
        assert_eq!(spare.fifo_pages(2.0), 997.75 * 256.0);
        assert!((spare.op(800.0 * 256.0).unwrap() - 0.2475).abs() < 1e-12);
        assert_eq!(spare.op(998.0 * 256.0), None);
        assert_eq!(Spare::of(&g, 0, &[1]), None);
        assert_eq!(Spare::of(&g, 1, &[0]), None);
        assert_eq!(Spare::of(&g, 0, &[]), None);
    }

    #[test]
    fn handles_and_relocation() {
        let g = resolved("reclaim_unit.count = 1000\nhandles = 4");
        // 10 free, 1 just opened, 1/2 for the other written handle, 2 idle, 1/2 for relocated data.
        assert_eq!(Spare::of(&g, 0, &[0, 1, 1]).unwrap().empty_rus(), 14.0);
        let g = resolved("reclaim_unit.count = 1000\nhandles = 3\nisolation = \"persistently\"");
        assert_eq!(Spare::of(&g, 0, &[0, 1, 2]).unwrap().empty_rus(), 13.5);
        let g = resolved("reclaim_unit.count = 1000\nhandles = 2\ngroups = 2");
        let spare = Spare::of(&g, 1, &[1]).unwrap();
        assert_eq!((spare.ru_count, spare.empty_rus()), (500, 7.5));
    }
}
