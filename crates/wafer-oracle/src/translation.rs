//! A map that is not all in memory: translation pages, those in memory, and the places of the others in flash.
//!
//! Source: `docs/reference/device-model.md`, "Map".

/// A unit of the region for translation pages: those programmed to it since it was erased.
type Unit = Vec<u64>;

/// The map of a device. The newest copy of a translation page is the one that counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    /// Entries of a translation page; 0: the whole map is in memory.
    pub(crate) entries: u64,
    /// Maximum number of translation pages in memory.
    most: usize,
    /// Translation pages in memory, the most recently used at the end, and whether an entry changed.
    memory: Vec<(u64, bool)>,
    unit_pages: usize,
    /// Each unit that is not free, in the order of opening: its number and its pages. The last one is open.
    used: Vec<(usize, Unit)>,
    /// Free units in order of erasure.
    free: Vec<usize>,
}

impl Map {
    /// Creates the map of a fresh device.
    pub(crate) fn new(pages: u64, page_bytes: u64, cache: u64, entries: u64) -> Map {
        if cache == 0 {
            return Map::default();
        }
        let entries = if entries == 0 { page_bytes / 4 } else { entries };
        let all = pages.div_ceil(entries);
        let most = all.min(cache / page_bytes) as usize;
        // Room for the map twice and two more units, in units of 1/32 of the map.
        let unit_pages = all.div_ceil(32);
        let units = (2 * all.div_ceil(unit_pages) + 2) as usize;
        let (used, free) = (vec![(0, Unit::new())], (1..units).collect());
        Map { entries, most, memory: Vec::new(), unit_pages: unit_pages as usize, used, free }
    }

    /// Uses a translation page. Returns the pages that are read and programmed for it.
    pub(crate) fn use_page(&mut self, page: u64, changes: bool) -> (u64, u64) {
        let (changed, reads) = match self.memory.iter().position(|(other, _)| *other == page) {
            Some(at) => (self.memory.remove(at).1, 0),
            None => (false, u64::from(self.newest(page).is_some())),
        };
        self.memory.push((page, changed || changes));
        let leaving = self.memory.len() > self.most;
        let programs = match leaving.then(|| self.memory.remove(0)) {
            Some((old, true)) => self.program(old),
            _ => 0,
        };
        (reads, programs)
    }

    /// Returns the place of the newest copy of a translation page: its index in the used units, and in the unit.
    fn newest(&self, page: u64) -> Option<(usize, usize)> {
        let within = |unit: &Unit| unit.iter().rposition(|other| *other == page);
        // A unit that was opened later was written later.
        let units = self.used.iter().enumerate().rev();
        units.filter_map(|(at, (_, unit))| Some((at, within(unit)?))).next()
    }

    /// Returns the translation pages whose newest copy is in a used unit, in order of place.
    fn valid(&self, at: usize) -> Vec<u64> {
        let pages = self.used[at].1.iter().enumerate();
        pages.filter(|(i, page)| self.newest(**page) == Some((at, *i))).map(|(_, p)| *p).collect()
    }

    /// Programs a translation page. Returns the number of flash pages that this takes.
    fn program(&mut self, page: u64) -> u64 {
        let open = self.used.len() - 1;
        if self.used[open].1.len() < self.unit_pages {
            self.used[open].1.push(page);
            return 1;
        }
        // The old copy of the page programmed now is no longer valid.
        let mut valid: Vec<Vec<u64>> = (0..self.used.len()).map(|at| self.valid(at)).collect();
        valid.iter_mut().for_each(|pages| pages.retain(|other| *other != page));
        self.used.push((self.free.remove(0), Unit::new()));
        let mut moved = 0;
        if self.free.is_empty() {
            let least = (0..valid.len()).min_by_key(|at| (valid[*at].len(), self.used[*at].0));
            let least = least.expect("a closed unit");
            moved = valid[least].len() as u64;
            let (number, _) = self.used.remove(least);
            self.free.push(number);
            self.used.last_mut().expect("an open unit").1.append(&mut valid[least]);
        }
        self.used.last_mut().expect("an open unit").1.push(page);
        moved + 1
    }
}
