//! The media work that a device reports is the work that its counters count.

use wafer_device::Device;
use wafer_interface::{Cause, Closed, MediaWork, Observer, RuId};

use crate::devices::{PAGES, all, traffic};

/// Replays the work: what is programmed where, and how often everything happened.
#[derive(Default)]
struct Media {
    /// Pages of each reclaim unit that are programmed.
    written: Vec<u32>,
    host: u64,
    relocated: u64,
    relocation_reads: u64,
    partial_reads: u64,
    host_reads: u64,
    erased: u64,
    parity: u64,
}

impl Observer for Media {
    const MEDIA: bool = true;

    fn media(&mut self, work: &MediaWork) {
        match *work {
            MediaWork::Program { ru, first, pages, cause } => {
                if self.written.len() <= ru.index() {
                    self.written.resize(ru.index() + 1, 0);
                }
                // Programs of a reclaim unit follow one another and do not pass its end.
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
        }
    }

    fn closed(&mut self, closed: &Closed) {
        let written = self.written.get(closed.ru.index()).copied().unwrap_or(0);
        assert_eq!(u64::from(written + closed.unwritten), PAGES, "{closed:?}");
    }
}

#[test]
fn reported_work_sums_to_the_counters() {
    for (at, config) in (0..).zip(all()) {
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
        // The map is not reported: a run with a clock refuses it.
        let programs = media.host + media.relocated + media.parity + counted.map_pages;
        assert_eq!(programs * page, counted.media_bytes);
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
