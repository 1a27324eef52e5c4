//! Times of a drive: media, controller, link, write buffer and pacing of garbage collection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;

/// The times of a drive. Bytes never depend on them.
///
/// Rates are in bytes per second, times in microseconds of model time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingConfig {
    /// Number of NAND dies. A reclaim unit is striped over all of them, or over those of its reclaim group.
    pub dies: u32,
    /// Planes that a die programs and erases together. It also reads them together, or independently with
    /// `independent_planes`.
    #[serde(default = "two")]
    pub planes: u32,
    /// Whether the planes of a die read different pages for hosts at the same time, as much 3D flash does (asynchronous
    /// independent plane read, AIPR). A read takes the first free plane. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub independent_planes: bool,
    /// Page size of one plane.
    #[serde(default = "plane_page")]
    pub plane_page: Bytes,
    /// Bits per cell: the number of pages that one program writes to every plane, 3 for TLC.
    #[serde(default = "three")]
    pub cell_bits: u32,
    /// Time to read a page from the cells (tR), by page type; a single number applies to every type.
    pub read_us: OneOrMany,
    /// Time of a one-shot program of all planes.
    pub program_us: f64,
    /// Time to program one page of every plane in the SLC cache (`firmware.slc_cache`), one bit per cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_program_us: Option<f64>,
    /// Time to read a page of the SLC cache from the cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_read_us: Option<f64>,
    /// Time to erase a block of all planes.
    #[serde(default = "erase_us")]
    pub erase_us: f64,
    /// Size of a block over all planes, which is the unit of an erase.
    #[serde(default = "block")]
    pub block: Bytes,
    /// Time after which a program yields to a waiting read. 0: never.
    #[serde(default)]
    pub slice_us: f64,
    /// Time after which an erase yields to a waiting read. 0: never.
    #[serde(default)]
    pub erase_slice_us: f64,
    /// Share of slice boundaries at which a program or erase does not yield.
    #[serde(default)]
    pub missed_slices: f64,
    /// Time that a program or erase loses when it yields.
    #[serde(default)]
    pub resume_us: f64,
    /// Number of channels; dies are distributed evenly over them.
    #[serde(default = "eight")]
    pub channels: u32,
    /// Rate of one channel.
    #[serde(default = "channel_rate")]
    pub channel_rate: Bytes,
    /// Rate of the link from the drive to the host.
    pub link_read: Bytes,
    /// Rate of the link from the host to the drive.
    pub link_write: Bytes,
    /// Time of a read in controller and driver, excluding waiting, media and transfers.
    pub read_overhead_us: f64,
    /// Time of a write in controller and driver, excluding waiting and transfers.
    pub write_overhead_us: f64,
    /// Maximum read commands per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<f64>,
    /// Maximum write commands per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_iops: Option<f64>,
    /// Maximum number of commands that the controller processes at once. The others wait in the submission queues, so
    /// reads wait behind writes that a full buffer or garbage collection holds up. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_slots: Option<u32>,
    /// Maximum number of waiting commands that the controller takes from a submission queue before it turns to the next
    /// (round robin arbitration, NVMe Base 2.2, 3.4.4.1). Every thread of a fio job, tenant or connection of a host has
    /// a queue of its own. Default: the controller takes commands in the order in which hosts submitted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arbitration_burst: Option<u32>,
    /// Size of the write buffer. A write completes when its data is in the buffer.
    pub write_buffer: Bytes,
    /// Whether the buffer survives a power loss, so that flush and FUA cost nothing.
    #[serde(default = "yes")]
    pub buffer_protected: bool,
    /// How garbage collection is spread over time.
    #[serde(default)]
    pub gc_pacing: GcPacing,
    /// With `gc_pacing = "burst"`: bytes that garbage collection moves at a time.
    #[serde(default = "burst")]
    pub gc_burst: Bytes,
    /// Whether relocated data occupies the write buffer until it is programmed, so that hosts wait during a burst
    /// larger than the space left.
    #[serde(default)]
    pub gc_buffered: bool,
    /// Bytes that hosts may write ahead of garbage collection while it has work. Beyond that, each write waits until
    /// the dies have had time for it and its share of relocation. Default: only the write buffer limits hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_credit: Option<Bytes>,
    /// `gc_credit` applies from this share of the rate at which dies keep up with hosts and relocation. Below it,
    /// garbage collection is ahead.
    #[serde(default)]
    pub gc_knee: f64,
    /// Maximum host write rate, in bytes per second, while garbage collection moves at least one page for every 50 that
    /// hosts write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_host_rate: Option<Bytes>,
    /// Bytes of metadata programmed for each byte of the pages that the host writes.
    #[serde(default)]
    pub metadata: f64,
    /// Power and energy.
    #[serde(default)]
    pub power: PowerConfig,
}

/// A number, or one number for each type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, or a list of numbers")]
pub enum OneOrMany {
    /// The same for every type.
    One(f64),
    /// By type.
    Many(Vec<f64>),
}

impl OneOrMany {
    /// Returns the numbers.
    pub fn as_slice(&self) -> &[f64] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

/// How garbage collection is spread over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GcPacing {
    /// Evenly between the host's writes, paced so that one collection finishes as the space it freed is used up.
    #[default]
    Smooth,
    /// Like "smooth", but `gc_burst` bytes at a time.
    Burst,
}

/// Power and energy of a drive. The values are assumptions: no published measurement isolates the share of GC.
///
/// The defaults are 3.3 V x 25 mA per busy die.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerConfig {
    /// Idle power, watts.
    pub idle_w: f64,
    /// Power of a die while it reads, programs or erases, watts.
    pub die_w: f64,
    /// Energy per byte on a channel, picojoules.
    pub channel_pj: f64,
    /// Energy per byte on the link, picojoules.
    pub link_pj: f64,
}

impl Default for PowerConfig {
    fn default() -> Self {
        PowerConfig { idle_w: 5.0, die_w: 0.0825, channel_pj: 20.0, link_pj: 60.0 }
    }
}

fn two() -> u32 {
    2
}
fn three() -> u32 {
    3
}
fn eight() -> u32 {
    8
}
fn plane_page() -> Bytes {
    Bytes(16 << 10)
}
fn block() -> Bytes {
    Bytes(48 << 20)
}
fn erase_us() -> f64 {
    3500.0
}
fn channel_rate() -> Bytes {
    Bytes(1_200_000_000)
}
fn burst() -> Bytes {
    Bytes(16 << 20)
}
fn yes() -> bool {
    true
}

impl TimingConfig {
    /// Returns the bytes of a one-shot program: the pages of all planes and bits.
    pub fn program_bytes(&self) -> u64 {
        u64::from(self.planes) * self.plane_page.0 * u64::from(self.cell_bits)
    }

    /// Returns the number of pages that a die reads for hosts at once.
    pub fn reading_planes(&self) -> u32 {
        if self.independent_planes { self.planes } else { 1 }
    }

    /// Returns the maximum bytes of one read of a die for a host.
    pub fn read_bytes(&self) -> u64 {
        u64::from(self.planes / self.reading_planes()) * self.plane_page.0
    }

    /// Returns the bytes per second that all dies together program.
    pub fn program_rate(&self) -> f64 {
        self.program_bytes() as f64 * f64::from(self.dies) / (self.program_us / 1e6)
    }

    /// Checks that no key exceeds what a drive can have, so that sums of times and bytes stay in range.
    ///
    /// # Errors
    /// The key at fault in `timing`, and its limit.
    pub fn check_limits(&self) -> Result<(), (&'static str, String)> {
        const COUNT: f64 = 65_536.0;
        const IOPS: f64 = 1e9;
        const SIZE: u64 = 1 << 40;
        let sizes = [
            ("timing.plane_page", self.plane_page, 1 << 30),
            ("timing.block", self.block, SIZE),
            ("timing.channel_rate", self.channel_rate, SIZE),
            ("timing.link_read", self.link_read, SIZE),
            ("timing.link_write", self.link_write, SIZE),
            ("timing.write_buffer", self.write_buffer, SIZE),
            ("timing.gc_burst", self.gc_burst, SIZE),
            ("timing.gc_credit", self.gc_credit.unwrap_or_default(), SIZE),
            ("timing.gc_host_rate", self.gc_host_rate.unwrap_or_default(), SIZE),
        ];
        for (key, bytes, most) in sizes {
            if bytes.0 > most {
                return Err((key, format!("expected at most {}", Bytes(most))));
            }
        }
        let numbers = [
            ("timing.dies", f64::from(self.dies), COUNT),
            ("timing.channels", f64::from(self.channels), COUNT),
            ("timing.planes", f64::from(self.planes), 256.0),
            ("timing.cell_bits", f64::from(self.cell_bits), 8.0),
            ("timing.read_iops", self.read_iops.unwrap_or_default(), IOPS),
            ("timing.write_iops", self.write_iops.unwrap_or_default(), IOPS),
            ("timing.command_slots", f64::from(self.command_slots.unwrap_or(1)), COUNT),
            ("timing.arbitration_burst", f64::from(self.arbitration_burst.unwrap_or(1)), COUNT),
        ];
        for (key, value, most) in numbers {
            if value.is_nan() || value > most {
                return Err((key, format!("expected at most {most}")));
            }
        }
        Ok(())
    }

    /// Checks every key for a device with pages of `page_bytes` bytes in `groups` reclaim groups.
    ///
    /// # Errors
    /// The key at fault in `timing`, and what it must be.
    pub fn check(&self, page_bytes: u64, groups: u16) -> Result<(), (&'static str, String)> {
        let time = |key: &'static str, value: f64, least: f64| {
            let most = 1e7;
            if value.is_finite() && value >= least && value <= most {
                return Ok(());
            }
            let above = if least > 0.0 { "above 0" } else { "0 or more" };
            Err((key, format!("expected a time {above} and at most 10 seconds, in microseconds")))
        };
        let positive = |key: &'static str, ok: bool| match ok {
            true => Ok(()),
            false => Err((key, "must be above 0".to_owned())),
        };
        positive("timing.dies", self.dies > 0)?;
        if !self.dies.is_multiple_of(u32::from(groups)) {
            let reason = format!("must be a multiple of the {groups} reclaim groups");
            return Err(("timing.dies", reason));
        }
        positive("timing.planes", self.planes > 0)?;
        positive("timing.cell_bits", self.cell_bits > 0)?;
        positive("timing.channels", self.channels > 0)?;
        positive("timing.command_slots", self.command_slots != Some(0))?;
        positive("timing.arbitration_burst", self.arbitration_burst != Some(0))?;
        if self.plane_page.0 == 0 || !self.plane_page.0.is_multiple_of(page_bytes) {
            let reason = format!("must be a multiple of the page ({page_bytes} bytes)");
            return Err(("timing.plane_page", reason));
        }
        if self.read_us.as_slice().is_empty() {
            return Err((
                "timing.read_us",
                "expected a time, or one for each page type".to_owned(),
            ));
        }
        self.read_us.as_slice().iter().try_for_each(|us| time("timing.read_us", *us, 1e-3))?;
        time("timing.program_us", self.program_us, 1e-3)?;
        for (key, us) in [
            ("timing.slc_program_us", self.slc_program_us),
            ("timing.slc_read_us", self.slc_read_us),
        ] {
            us.map_or(Ok(()), |us| time(key, us, 1e-3))?;
        }
        time("timing.erase_us", self.erase_us, 0.0)?;
        time("timing.slice_us", self.slice_us, 0.0)?;
        time("timing.erase_slice_us", self.erase_slice_us, 0.0)?;
        time("timing.resume_us", self.resume_us, 0.0)?;
        time("timing.read_overhead_us", self.read_overhead_us, 0.0)?;
        time("timing.write_overhead_us", self.write_overhead_us, 0.0)?;
        let share = |key: &'static str, value: f64, most: f64| {
            if (0.0..=most).contains(&value) {
                return Ok(());
            }
            Err((key, format!("expected a share from 0 to {most}")))
        };
        share("timing.missed_slices", self.missed_slices, 0.99)?;
        share("timing.metadata", self.metadata, 1.0)?;
        share("timing.gc_knee", self.gc_knee, 1.0)?;
        // Slower ones reach the end of model time.
        let bytes = [
            ("timing.channel_rate", Some(self.channel_rate)),
            ("timing.link_read", Some(self.link_read)),
            ("timing.link_write", Some(self.link_write)),
            ("timing.gc_host_rate", self.gc_host_rate),
        ];
        for (key, rate) in bytes {
            if rate.is_some_and(|rate| rate.0 < 1000) {
                return Err((key, "must be at least 1 kB (per second)".to_owned()));
            }
        }
        let commands =
            [("timing.read_iops", self.read_iops), ("timing.write_iops", self.write_iops)];
        for (key, rate) in commands {
            if rate.is_some_and(|rate| !(1.0..=1e12).contains(&rate)) {
                return Err((key, "must be from 1 to 1e12 (per second)".to_owned()));
            }
        }
        for (key, value) in [
            ("timing.power.idle_w", self.power.idle_w),
            ("timing.power.die_w", self.power.die_w),
            ("timing.power.channel_pj", self.power.channel_pj),
            ("timing.power.link_pj", self.power.link_pj),
        ] {
            if !(0.0..=1e6).contains(&value) {
                return Err((key, "expected a number from 0 to 1000000".to_owned()));
            }
        }
        let program = self.program_bytes();
        for (key, size) in
            [("timing.block", self.block), ("timing.write_buffer", self.write_buffer)]
        {
            if size.0 < program {
                return Err((key, format!("must hold at least one program ({program} bytes)")));
            }
        }
        Ok(())
    }
}
