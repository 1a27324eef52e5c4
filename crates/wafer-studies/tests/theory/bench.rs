//! Devices, traffic and measurements for the tests.

use wafer_device::{Device, DeviceConfig};
use wafer_interface::{Bytes, Command, Counters, LBA_BYTES, Placement};
use wafer_studies::theory::{Spare, Stream};

/// 80 % of the writes to 20 % of the pages.
pub(crate) const HOT_COLD: &[(f64, f64)] = &[(0.8, 0.2), (0.2, 0.8)];
/// The three zones of JESD219's enterprise workload.
pub(crate) const JESD219: &[(f64, f64)] = &[(0.5, 0.05), (0.3, 0.15), (0.2, 0.8)];
/// One class: uniform.
pub(crate) const UNIFORM: &[(f64, f64)] = &[(1.0, 1.0)];

/// xoshiro256++ (Blackman, Vigna), seeded by splitmix64: independent of the device's generator.
pub(crate) struct Rng([u64; 4]);

impl Rng {
    pub(crate) fn new(mut seed: u64) -> Self {
        Rng(std::array::from_fn(|_| {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = seed;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    pub(crate) fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A class of pages on the device.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) share: f64,
    pub(crate) first: u64,
    pub(crate) pages: u64,
    pub(crate) placement: Placement,
}

/// A device and its workload.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) config: DeviceConfig,
    pub(crate) classes: Vec<Class>,
    pub(crate) seed: u64,
    /// Host volumes (in logical capacities) before and during measurement.
    pub(crate) discard: f64,
    pub(crate) measure: f64,
    /// Logical blocks of a write; all of a page unless set.
    pub(crate) blocks: Option<u32>,
}

/// Returns a configuration as if read from a file; `ru` is in pages. The capacity is set later.
pub(crate) fn config(ru: u64, rus: u64, more: &str) -> DeviceConfig {
    // The smallest reclaim unit is 1 MiB.
    let page = (1 << 20) / ru.min(256);
    let text = format!(
        "capacity = {}\npage = {page}\nreclaim_unit.size = {}\nreclaim_unit.count = {rus}\n\
         gc.background_free = 0.0\n{more}",
        rus / 2 * ru * page,
        ru * page,
    );
    toml::from_str(&text).expect("a configuration")
}

pub(crate) const ONE_LOG: &str = "fdp = false\ngc.separate = false\ngc.forced_free = 0.0\n";
pub(crate) const OWN_GC: &str = "fdp = false\ngc.separate = true\ngc.forced_free = 0.0\n";

impl Bench {
    /// Creates classes (share of writes, share of pages) on a device with `pages` logical pages in
    /// total. If `placed`, each has its own handle.
    pub(crate) fn new(
        config: DeviceConfig,
        pages: f64,
        classes: &[(f64, f64)],
        placed: bool,
    ) -> Self {
        let class = |(i, (share, part)): (usize, &(f64, f64))| {
            (*share, pages * part, if placed { i as u16 } else { 0 })
        };
        Bench::of(config, &classes.iter().enumerate().map(class).collect::<Vec<_>>())
    }

    /// Creates classes (share of writes, pages, placement identifier).
    pub(crate) fn of(mut config: DeviceConfig, classes: &[(f64, f64, u16)]) -> Self {
        let mut list: Vec<Class> = Vec::new();
        let mut first = 0;
        for (share, pages, placement) in classes {
            let pages = pages.round() as u64;
            list.push(Class { share: *share, first, pages, placement: Placement(*placement) });
            first += pages;
        }
        config.capacity = Bytes(first * config.page.0);
        Bench { config, classes: list, seed: 1, discard: 6.0, measure: 8.0, blocks: None }
    }

    /// Sets the volumes to discard and to measure.
    pub(crate) fn volumes(self, discard: f64, measure: f64) -> Self {
        Bench { discard, measure, ..self }
    }

    pub(crate) fn pages(&self) -> u64 {
        self.classes.iter().map(|c| c.pages).sum()
    }

    pub(crate) fn write(&self, class: usize, page: u64) -> Command {
        let blocks = self.config.page.0 / LBA_BYTES;
        let class = &self.classes[class];
        let length = self.blocks.unwrap_or(blocks as u32);
        Command::write((class.first + page) * blocks, length, class.placement)
    }

    pub(crate) fn device(&self) -> Device {
        Device::new(&self.config, self.seed).expect("a device")
    }

    /// Writes every page once, in an order that mixes all classes evenly.
    pub(crate) fn fill(&self, device: &mut Device) {
        let pages = self.pages();
        let mut step = (pages as f64 * 0.618_033_988_75) as u64;
        while gcd(step, pages) != 1 {
            step += 1;
        }
        let mut batch = Vec::new();
        let mut at = 0;
        for _ in 0..pages {
            let class = self.classes.iter().rposition(|c| c.first <= at).expect("a class");
            batch.push(self.write(class, at - self.classes[class].first));
            at = (at + step) % pages;
            apply_full(device, &mut batch);
        }
        device.apply(&batch);
    }

    pub(crate) fn churn(&self, device: &mut Device, rng: &mut Rng, writes: u64) {
        let mut batch = Vec::new();
        for _ in 0..writes {
            let mut class = 0;
            if self.classes.len() > 1 {
                let mut draw = rng.unit();
                while class + 1 < self.classes.len() && draw >= self.classes[class].share {
                    draw -= self.classes[class].share;
                    class += 1;
                }
            }
            batch.push(self.write(class, rng.below(self.classes[class].pages)));
            apply_full(device, &mut batch);
        }
        device.apply(&batch);
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters_of(self.device())
    }

    pub(crate) fn counters_of(&self, mut device: Device) -> Counters {
        self.fill(&mut device);
        let mut rng = Rng::new(self.seed);
        let writes = |volumes: f64| (volumes * self.pages() as f64) as u64;
        self.churn(&mut device, &mut rng, writes(self.discard));
        device.reset_counters();
        self.churn(&mut device, &mut rng, writes(self.measure));
        let counters = device.counters();
        assert_eq!(counters.rejected + counters.background_gc, 0);
        device.check_invariants().expect("a sound device");
        counters
    }

    pub(crate) fn waf(&self) -> f64 {
        self.counters().waf()
    }
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

pub(crate) fn apply_full(device: &mut Device, batch: &mut Vec<Command>) {
    if batch.len() == 2048 {
        device.apply(batch);
        batch.clear();
    }
}

/// Returns the pages that can hold data in group 0 when these handles are written.
pub(crate) fn spare(config: &DeviceConfig, written: &[u16]) -> Spare {
    let resolved = config.resolve().expect("a geometry");
    Spare::of(&resolved, 0, written).expect("a group with these handles")
}

pub(crate) fn streams(classes: &[(f64, f64)], pages: f64) -> Vec<Stream> {
    classes.iter().map(|(share, part)| Stream::new(*share, part * pages)).collect()
}
