//! The media work that a device reports matches its counters.

use wafer_device::{Device, DeviceConfig};
use wafer_interface::{Bytes, Cause, Closed, MediaWork, Observer, RuId};

use crate::devices::{PAGE, PAGES, RUS, all, config, traffic};

/// Replays the work: tracks what is programmed where, and counts everything.
#[derive(Default)]
struct Media {
    /// Number of programmed pages of each reclaim unit.
    written: Vec<u32>,
    host: u64,
    relocated: u64,
    relocation_reads: u64,
    partial_reads: u64,
    host_reads: u64,
    erased: u64,
    parity: u64,
    map_reads: u64,
    map_programs: u64,
    cached: u64,
    cache_reads: u64,
    folded: u64,
}

impl Observer for Media {
    fn wants_media(&self) -> bool {
        true
    }

    fn media(&mut self, work: &MediaWork) {
        match *work {
            MediaWork::Program { ru, first, pages, cause } => {
                if self.written.len() <= ru.index() {
                    self.written.resize(ru.index() + 1, 0);
                }
                // Programs of a reclaim unit are consecutive and do not exceed its end.
                assert_eq!(first, self.written[ru.index()], "{work:?}");
                self.written[ru.index()] += pages;
                assert!(pages > 0 && u64::from(self.written[ru.index()]) <= PAGES, "{work:?}");
                match cause {
                    Cause::HostWrite(_) => self.host += u64::from(pages),
                    Cause::Relocation { victim } => {
                        assert_ne!(victim, ru);
                        self.relocated += u64::from(pages);
                    }
                    Cause::HostRead | Cause::ReadModifyWrite(_) => panic!("{work:?}"),
                }
            }
            MediaWork::Read { ru, pages, cause, .. } => {
                assert!(pages > 0 && pages <= self.written[ru.index()], "{work:?}");
                match cause {
                    Cause::Relocation { victim } => {
                        assert_eq!(victim, ru);
                        self.relocation_reads += u64::from(pages);
                    }
                    Cause::ReadModifyWrite(_) => self.partial_reads += u64::from(pages),
                    Cause::HostRead => self.host_reads += u64::from(pages),
                    Cause::HostWrite(_) => panic!("{work:?}"),
                }
            }
            MediaWork::Parity { ru, pages } => {
                assert!(pages > 0 && pages <= self.written[ru.index()], "{work:?}");
                self.parity += u64::from(pages);
            }
            MediaWork::Erase { ru } => {
                self.written[ru.index()] = 0;
                self.erased += 1;
            }
            MediaWork::Map { reads, programs } => {
                self.map_reads += u64::from(reads);
                self.map_programs += u64::from(programs);
            }
            MediaWork::CacheProgram { pages } => self.cached += u64::from(pages),
            MediaWork::CacheRead { first, pages } => {
                assert!(pages > 0 && first + u64::from(pages) <= RUS * PAGES, "{work:?}");
                self.cache_reads += u64::from(pages);
            }
            MediaWork::Fold { pages } => self.folded += u64::from(pages),
        }
    }

    fn closed(&mut self, closed: &Closed) {
        let written = self.written.get(closed.ru.index()).copied().unwrap_or(0);
        assert_eq!(u64::from(written + closed.unwritten), PAGES, "{closed:?}");
    }
}

/// Returns devices with an SLC cache, behind a write buffer and alone.
fn cached() -> impl Iterator<Item = DeviceConfig> {
    [0, 7].into_iter().map(|buffer| {
        let mut cached = config("greedy");
        cached.firmware.slc_cache = Bytes(300 * PAGE);
        cached.firmware.write_buffer = Bytes(buffer * PAGE);
        cached
    })
}

#[test]
fn reported_work_sums_to_the_counters() {
    for (at, config) in (0..).zip(all().into_iter().chain(cached())) {
        let mut device = Device::with_observer(&config, at, Media::default()).unwrap();
        let mut silent = Device::new(&config, at).unwrap();
        let commands = traffic(6000, at);
        for batch in commands.chunks(37) {
            device.apply(batch);
            silent.apply(batch);
        }
        let (media, counted) = (device.observer(), device.counters());
        assert_eq!(media.host, counted.host_pages);
        assert_eq!(media.relocated, counted.relocated_pages);
        let page = device.geometry().page_bytes;
        assert_eq!(media.parity, counted.parity_pages);
        assert_eq!((media.map_reads, media.map_programs), (counted.map_reads, counted.map_pages));
        assert_eq!(media.cached, counted.cache_pages);
        let has_cache = config.firmware.slc_cache.0 > 0;
        assert_eq!(media.folded, if has_cache { media.host } else { 0 });
        assert_eq!(media.cache_reads > 0, has_cache);
        let beside = media.parity + media.map_programs + media.cached;
        assert_eq!((media.host + media.relocated + beside) * page, counted.media_bytes);
        assert_eq!(media.relocation_reads, counted.relocated_pages);
        assert_eq!(media.erased * PAGES * page, counted.erased_bytes);
        assert!(media.partial_reads > 0 && media.partial_reads <= counted.rmw_pages);
        assert!(media.host_reads > 0 && counted.relocated_pages > 0, "{config:?}: {counted:?}");
        for ru in (0..device.geometry().ru_count).map(RuId) {
            let written = media.written.get(ru.index()).copied().unwrap_or(0);
            assert!(device.valid_pages(ru) <= written);
        }
        assert_eq!(silent.counters(), counted, "reporting changes nothing");
        assert_eq!(silent.map_bytes(), device.map_bytes());
    }
}
