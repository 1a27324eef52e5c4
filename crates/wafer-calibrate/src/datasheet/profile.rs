//! The device file inferred from a data sheet.

use std::fmt::Write as _;

use serde::Serialize;
use wafer_config::{ResolvedDevice, device_from_text};
use wafer_interface::Bytes;
use wafer_lab::LabError;
use wafer_record::endurance::{Drive, Rating};

use super::flash::{CELL_BITS, Flash, PLANE_PAGE};
use super::spare::{PageTimes, Spare};
use super::{Datasheet, PAGE};

/// The source of a line's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// In the data sheet.
    Given,
    /// Follows from the data sheet.
    Inferred,
    /// Typical for such drives.
    Assumed,
}

/// A line of a device file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Dotted key.
    pub key: String,
    /// Value, as TOML.
    pub value: String,
    /// The source of the value.
    pub basis: Basis,
    /// The derivation with its range, or the source.
    pub why: String,
}

/// A device from a data sheet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// The data sheet.
    pub datasheet: Datasheet,
    /// WAF of uniform random writes in steady state.
    pub waf: f64,
    /// Effective over-provisioning: of physical pages that can hold data when a victim is chosen.
    pub effective_overprovisioning: f64,
    /// Its range, from the range of the media rate under garbage collection.
    pub effective_overprovisioning_range: (f64, f64),
    /// Bytes that the drive may write in 5 years at its drive writes per day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life_bytes: Option<f64>,
    /// Every key, with the reason for its value.
    pub lines: Vec<Line>,
    /// Figures of the data sheet that the device does not reach, with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

const READ_US: f64 = 42.0;
const READ_LATENCY_US: f64 = 65.0;
const WRITE_LATENCY_US: f64 = 11.0;
const ERASE_US: f64 = 2500.0;
const FORCED_FREE: f64 = 0.004;
/// Channels and their rate in MT/s of 8 bits (ONFI), from slow to fast drives.
const CHANNELS: [(u32, u64); 4] = [(8, 1200), (16, 1600), (16, 2400), (16, 3600)];
/// Host bytes per second relative to the rate of all channels.
const CHANNEL_USE: f64 = 5.0 / 6.0;
/// Random read rate at a deep queue, relative to that of dies that never idle.
const DIE_USE: f64 = 0.97;
/// Minimum number of reclaim units to aim for: closed forms hold from about 1,000.
const UNITS: f64 = 800.0;

/// Returns the device for a checked data sheet.
pub(super) fn of(sheet: &Datasheet) -> Result<Profile, LabError> {
    let capacity = sheet.capacity.0 / PAGE as u64 * PAGE as u64;
    let unit = 1u64 << (capacity as f64 / UNITS).log2().floor() as u32;
    let pages = (unit / PAGE as u64) as u32;
    let block = 48u64 << 20;

    // Times per page do not depend on the number of dies, except for the planes of a read.
    let (read_us, cells) = match sheet.read_latency {
        Some(us) if us < 1.4 * READ_US => {
            (round(0.65 * us, 1.0), (Inferred, format!("0.65 of {us} µs for a single read")))
        }
        _ => (READ_US, (Assumed, "TLC, 40 to 106 µs; PM9A3 (SSD-iq)".to_owned())),
    };
    let seq = sheet.seq_write.0 as f64;
    let times = |flash: &Flash| {
        let dies = f64::from(flash.dies);
        let read = f64::from(flash.planes) * PLANE_PAGE as f64 / PAGE;
        let blocks = f64::from(flash.planes) / 2.0 * block as f64 / PAGE;
        PageTimes {
            program: PAGE / seq,
            read: read_us / read / dies / 1e6,
            erase: ERASE_US / blocks / dies / 1e6,
        }
    };
    let mut flash = Flash::of(sheet, capacity as f64 * 1.1);
    let mut spare = Spare::of(sheet, times(&flash), pages)?;
    // Dies follow from spare space, and spare space from the reads of relocation, hence from dies.
    for _ in 0..4 {
        flash = Flash::of(sheet, capacity as f64 * (1.0 + spare.op));
        spare = Spare::of(sheet, times(&flash), pages)?;
    }
    let blocks = block * u64::from(flash.planes) / 2;

    // Free reclaim units hold no data when a victim is chosen.
    let logical = capacity as f64 / unit as f64;
    let effective = logical * (1.0 + spare.op);
    let count = ((effective + 1.0) / (1.0 - FORCED_FREE)).max(effective + 2.0).round();
    let op = round(((count + 0.5) / logical - 1.0).max(0.0), 1e4);

    let mut notices = Vec::new();
    let mut lines = Vec::new();
    let mut line = |key: &str, value: String, basis: Basis, why: String| {
        lines.push(Line { key: key.to_owned(), value, basis, why });
    };
    let text = |text: &str| format!("\"{text}\"");
    let size = |bytes: u64| format!("\"{}\"", Bytes(bytes));
    let number = |value: f64| format!("{value:?}");
    use Basis::{Assumed, Given, Inferred};

    let described = format!("{} from its data sheet", sheet.capacity);
    line("description", text(&described), Given, "capacity".into());
    line("write_rate", size(sheet.seq_write.0), Given, "sequential write".into());
    line("capacity", size(capacity), Given, "capacity, in whole pages".into());
    line("page", text("4KiB"), Assumed, "usual mapping unit".into());
    line("fdp", "false".into(), Assumed, "set it and handles for a drive with FDP".into());
    line("handles", "1".into(), Assumed, "a conventional drive".into());
    line(
        "overprovisioning",
        number(op),
        Inferred,
        format!(
            "random write x 4 KiB x WAF = sequential write less reads and erases: WAF {:.2}, effective OP {:.3}; \
             {:.3} to {:.3} with media rates of 1.02 to 0.81",
            spare.waf, spare.op, spare.range.0, spare.range.1
        ),
    );
    line("reclaim_unit.size", size(unit), Assumed, "about 1,000 superblocks".into());
    line("gc.policy", text("greedy"), Assumed, "WAF by fill of a 7450 MAX (SSD-iq)".into());
    line("gc.separate", "false".into(), Assumed, "WAF of a PM9A3 (SSD-iq)".into());
    line("gc.background_free", "0.0".into(), Assumed, "none".into());
    line("gc.forced_free", number(FORCED_FREE), Assumed, "as shipped profiles".into());

    line(
        "timing.dies",
        flash.dies.to_string(),
        Inferred,
        format!(
            "capacity and OP in dies of {} Gb: the size that gives the more usual rate of a die",
            (flash.die_bytes * 8) >> 30
        ),
    );
    line("timing.planes", flash.planes.to_string(), Assumed, "program of at least 0.5 ms".into());
    let single = f64::from(flash.dies) / read_us * 1e6;
    let independent = sheet.rand_read > single;
    let why = format!(
        "random read; the dies give {single:.0} IOPS one page at a time, {:.0} on all planes",
        single * f64::from(flash.planes)
    );
    let most = single * if independent { f64::from(flash.planes) } else { 1.0 };
    if sheet.rand_read > DIE_USE * most {
        notices.push(format!(
            "random read: {} IOPS are given; {} dies of {} planes with read_us {read_us} serve about {:.0}",
            sheet.rand_read,
            flash.dies,
            flash.planes,
            DIE_USE * most
        ));
    }
    line("timing.independent_planes", independent.to_string(), Inferred, why);
    line("timing.plane_page", size(PLANE_PAGE), Assumed, "usual for 3D TLC".into());
    line("timing.cell_bits", CELL_BITS.to_string(), Assumed, "TLC".into());
    line(
        "timing.program_us",
        number(flash.program_us),
        Inferred,
        format!(
            "sequential write over all dies, {:.0} MB/s a die; 80 to 95 is usual",
            flash.die_rate(sheet) / 1e6
        ),
    );
    line("timing.read_us", number(read_us), cells.0, cells.1);
    line("timing.erase_us", number(ERASE_US), Assumed, "PM9A3 (SSD-iq); 2.5 to 10 ms".into());
    line("timing.block", size(blocks), Assumed, "as shipped profiles".into());
    line("timing.slice_us", "150.0".into(), Assumed, "128 on a PM9A3, 260 on a PE8110".into());
    line("timing.erase_slice_us", "500.0".into(), Assumed, "p99.99 of reads, PM9A3".into());
    line("timing.missed_slices", "0.1".into(), Assumed, "0.13 on a PM9A3, 0.06 on a PE8110".into());
    let moved = sheet.seq_read.max(sheet.seq_write).0 as f64;
    let carried =
        |(channels, rate): &(u32, u64)| f64::from(*channels) * *rate as f64 * 1e6 * CHANNEL_USE;
    let fits = CHANNELS.iter().find(|channels| carried(channels) >= moved);
    let fastest = &CHANNELS[CHANNELS.len() - 1];
    let (channels, rate) = *fits.unwrap_or(fastest);
    line("timing.channels", channels.to_string(), Assumed, "usual for its read rate".into());
    let channel_rate = rate * 1_000_000;
    line("timing.channel_rate", size(channel_rate), Assumed, format!("ONFI, {rate} MT/s"));
    line("timing.link_read", size(sheet.seq_read.0), Given, "sequential read".into());
    let link_write = sheet.seq_read.max(sheet.seq_write);
    line("timing.link_write", size(link_write.0), Assumed, "the link as for reads".into());

    let transfer = PAGE / channel_rate as f64 * 1e6 + PAGE / sheet.seq_read.0 as f64 * 1e6;
    let parts = read_us + transfer + 1e6 / sheet.rand_read;
    let (latency, basis, why, of) = match sheet.read_latency {
        Some(us) => (us, Inferred, "less read_us, transfer and controller", "are given"),
        None => (READ_LATENCY_US, Assumed, "58 to 89 on four drives", "are usual"),
    };
    let why = if latency < parts {
        notices.push(format!(
            "read latency: {latency} µs {of}; a single read takes at least {parts:.1} µs"
        ));
        format!("{latency} µs for a single read, which takes at least {parts:.1} here")
    } else {
        let mark = if basis == Assumed { ";" } else { "," };
        format!("{latency} µs for a single read{mark} {why}")
    };
    let overhead = round((latency - parts).max(0.0), 100.0);
    line("timing.read_overhead_us", number(overhead), basis, why);
    if fits.is_none() {
        let most = carried(fastest) / 1e9;
        notices.push(format!(
            "sequential rates: channels of today's drives carry about {most:.0} GB/s"
        ));
    }
    let transfer = PAGE / link_write.0 as f64 * 1e6;
    let (latency, basis, why) = match sheet.write_latency {
        Some(us) => (us, Inferred, format!("{us} µs for a single write, less transfer")),
        None => {
            let why = format!("{WRITE_LATENCY_US} µs for a single write; 11 to 15 on four drives");
            (WRITE_LATENCY_US, Assumed, why)
        }
    };
    let overhead = round((latency - transfer).max(0.0), 100.0);
    line("timing.write_overhead_us", number(overhead), basis, why);
    line(
        "timing.read_iops",
        number(sheet.rand_read),
        Given,
        "random read; dies may give fewer".into(),
    );
    let buffer =
        (u64::from(flash.dies) * flash.program_bytes() * 2).next_power_of_two().max(4 << 20);
    let why = "larger than what one program of every die frees".to_owned();
    line("timing.write_buffer", size(buffer), Assumed, why);
    line("timing.gc_credit", text("12KiB"), Assumed, "PM9A3 (SSD-iq)".into());
    line("timing.gc_knee", "0.65".into(), Assumed, "0.63 on a PM9A3, 0.75 on a PE8110".into());
    if let Some(watts) = sheet.power {
        let idle = round(f64::min(5.0, 0.4 * watts), 100.0);
        let moved = seq * (20.0 + 60.0) / 1e12;
        let die = round((watts - idle - moved) / f64::from(flash.dies), 1e4).max(0.0);
        line("timing.power.idle_w", number(idle), Assumed, "at most 0.4 of the power".into());
        let why = format!("{watts} W with all dies programming");
        line("timing.power.die_w", number(die), Inferred, why);
    }
    let rated = sheet.dwpd.map(|dwpd| Drive::new(capacity, Rating::Dwpd(dwpd)));
    let life_bytes = rated.map(|drive| drive.media_bytes() / drive.rated_waf);
    let mut profile = Profile {
        datasheet: sheet.clone(),
        waf: spare.waf,
        effective_overprovisioning: spare.op,
        effective_overprovisioning_range: spare.range,
        life_bytes,
        lines,
        notices,
    };
    let geometry = profile.device()?.geometry;
    if let Some(rated) = rated {
        let flash = geometry.flash_bytes() as f64;
        let cycles = (rated.media_bytes() / flash).round().max(1.0);
        let (years, waf) = (rated.warranty_years, rated.rated_waf);
        profile.lines.push(Line {
            key: "endurance.pe_cycles".to_owned(),
            value: (cycles as u64).to_string(),
            basis: Inferred,
            why: format!("these drive writes over {years} years at a WAF of {waf}"),
        });
        profile.device()?;
    }
    Ok(profile)
}

/// Rounds to `1 / parts`.
fn round(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

impl Profile {
    /// Returns the device file.
    pub fn toml(&self) -> String {
        let sheet = &self.datasheet;
        let mb = |bytes: Bytes| bytes.0 as f64 / 1e6;
        let mut out = format!(
            "# A drive of {}, from its data sheet: {} MB/s sequential read, {} MB/s sequential write,\n\
             # {} and {} IOPS random read and write of 4 KiB.\n",
            sheet.capacity,
            mb(sheet.seq_read),
            mb(sheet.seq_write),
            sheet.rand_read,
            sheet.rand_write
        );
        if let (Some(dwpd), Some(bytes)) = (sheet.dwpd, self.life_bytes) {
            let _ =
                writeln!(out, "# Endurance: {dwpd} drive writes per day, {:.0} TB.", bytes / 1e12);
        }
        out.push_str(
            "# Given: by the data sheet. Inferred: follows from it. Assumed: usual, with its source or range.\n",
        );
        let mut table = "";
        for line in &self.lines {
            let (in_table, key) = line.key.rsplit_once('.').unwrap_or(("", &line.key));
            if in_table != table {
                table = in_table;
                let _ = write!(out, "\n[{table}]\n");
            }
            let basis = match line.basis {
                Basis::Given => "given",
                Basis::Inferred => "inferred",
                Basis::Assumed => "assumed",
            };
            let setting = format!("{key} = {}", line.value);
            let _ = writeln!(out, "{setting:<35} # {basis}: {}", line.why);
        }
        out
    }

    /// Returns the device as loaded from its file.
    ///
    /// # Errors
    /// If the device is invalid.
    pub fn device(&self) -> Result<ResolvedDevice, LabError> {
        Ok(device_from_text("data sheet", &self.toml(), &[])?)
    }
}
