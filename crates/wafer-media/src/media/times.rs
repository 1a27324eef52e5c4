//! The configuration converted to model time.

use wafer_interface::{Bytes, TimingConfig};

use super::Shape;
use crate::die::Slices;
use crate::time::{Rate, Time, from_us};

/// The times and rates of a configuration, in model time.
#[derive(Clone, Debug)]
pub(super) struct Times {
    pub(super) read: Vec<Time>,
    pub(super) program: Time,
    /// A program and a read of the SLC cache.
    pub(super) cache_program: Time,
    pub(super) cache_read: Time,
    pub(super) erase: Time,
    pub(super) slices: Slices,
    /// Share of yield points that are missed, times 2^32.
    pub(super) missed: u64,
    pub(super) channel: Rate,
    pub(super) link_read: Rate,
    pub(super) link_write: Rate,
    pub(super) read_overhead: Time,
    pub(super) write_overhead: Time,
    pub(super) read_interval: Time,
    pub(super) write_interval: Time,
    pub(super) host_cap: Option<Rate>,
    /// Pages that hosts may be ahead of garbage collection.
    pub(super) credit: Option<u64>,
    /// Time that all dies of a group together take for a host page, and for a relocated page, with 16 bits of fraction.
    pub(super) page: Time,
    pub(super) moved_page: Time,
    /// Share of the dies' rate at which the knee is, times 2^32.
    pub(super) knee: u64,
}

impl Times {
    /// Converts a configuration; `stripe` and `unit` are the pages in a program and in a read of the cells.
    pub(super) fn new(config: &TimingConfig, shape: Shape, stripe: f64, unit: f64) -> Self {
        let us = from_us;
        let interval = |iops: Option<f64>| iops.map_or(0, |iops| (1e9 / iops).round() as Time);
        let rate = |bytes: Bytes| Rate::new(bytes.0 as f64);
        let share = |share: f64| (share * 4_294_967_296.0) as u64;
        let reads = config.read_us.as_slice();
        let mean_read = reads.iter().sum::<f64>() / reads.len() as f64;
        let dies = f64::from(config.dies / u32::from(shape.groups));
        let per_page = |us: f64| (us / dies * 1e3 * 65_536.0).round() as Time;
        Times {
            read: reads.iter().map(|t| us(*t)).collect(),
            program: us(config.program_us),
            cache_program: us(config.slc_program_us.unwrap_or_default()),
            cache_read: us(config.slc_read_us.unwrap_or_default()),
            erase: us(config.erase_us),
            slices: Slices {
                program: us(config.slice_us),
                erase: us(config.erase_slice_us),
                resume: us(config.resume_us),
            },
            missed: share(config.missed_slices),
            channel: rate(config.channel_rate),
            link_read: rate(config.link_read),
            link_write: rate(config.link_write),
            read_overhead: us(config.read_overhead_us),
            write_overhead: us(config.write_overhead_us),
            read_interval: interval(config.read_iops),
            write_interval: interval(config.write_iops),
            host_cap: config.gc_host_rate.map(rate),
            credit: config.gc_credit.map(|credit| credit.0.div_ceil(shape.page_bytes)),
            page: per_page(config.program_us / stripe),
            // Most of a victim is valid, so nearly every read of its cells yields a whole unit.
            moved_page: per_page(config.program_us / stripe + mean_read / unit),
            knee: share(config.gc_knee),
        }
    }
}
