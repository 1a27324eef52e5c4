//! Zones: sequential writes to several open zones in random order; a zone is deallocated before it is reused.
//!
//! The benchmark of SSD-iq (Haas, Lee, Bonnet, Leis, PVLDB 18(11), 2025): each write goes to a random open zone, at its
//! write pointer. A random closed zone replaces a full one and is first deallocated as a whole. Log-structured stores
//! and hosts of zoned drives write like this. Bytes after the last whole zone are not written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_interface::{Bytes, Command, Figure, LBA_BYTES, Op};
use wafer_random::Rng;

use super::application::{Application, command, count, placement, rng};
use super::configuration::Configuration;
use super::space::Space;
use wafer_interface::InvalidKey;

/// Sequential writes to several open zones in random order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ZonesConfig {
    /// Bytes of a zone. Default 256 MiB (assumption; SSD-iq measured with 8 GiB).
    pub zone: Bytes,
    /// Number of open zones. Default 4 (that of SSD-iq's benchmark).
    pub open: u32,
    /// Bytes of a write. Default 512 KiB (SSD-iq).
    pub write: Bytes,
    /// Deallocate a zone before it is written again. Default true (SSD-iq).
    pub discard: bool,
    /// Placement handles, assigned to the open zones in turn. Default none: no placement directive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handles: Vec<u16>,
}

impl Default for ZonesConfig {
    fn default() -> Self {
        let (zone, write) = (Bytes(256 << 20), Bytes(512 << 10));
        ZonesConfig { zone, open: 4, write, discard: true, handles: Vec::new() }
    }
}

impl Configuration for ZonesConfig {
    const NAME: &'static str = "zones";
    /// SSD-iq writes from one thread, one write at a time.
    const QUEUE_DEPTH: u32 = 1;
    const SUMMARY: &'static str =
        "sequential writes to open zones in random order; zones are deallocated before reuse";
    type Application = Zones;

    fn memory(&self, _space: &Space) -> Result<u64, InvalidKey> {
        Ok(0)
    }

    fn application(&self, space: &Space, seed: u64) -> Result<Zones, InvalidKey> {
        let (zone, write, bytes) = (self.zone.0, self.write.0, space.first().bytes);
        let aligned = write.is_multiple_of(LBA_BYTES) && (LBA_BYTES..=64 << 20).contains(&write);
        InvalidKey::unless(aligned, "write", || {
            format!("{} is not a multiple of 512B up to 64MiB", self.write)
        })?;
        InvalidKey::unless(zone > 0 && zone.is_multiple_of(write), "zone", || {
            format!("{} is not a multiple of the write size, {}", self.zone, self.write)
        })?;
        InvalidKey::unless(zone / LBA_BYTES <= u64::from(u32::MAX), "zone", || {
            format!("{} is more than a command deallocates", self.zone)
        })?;
        let zones = bytes / zone;
        InvalidKey::unless(self.open > 0, "open", || "must be at least 1")?;
        InvalidKey::unless(u64::from(self.open) < zones, "open", || {
            format!("{}: the namespace has {zones} zones of {}", self.open, self.zone)
        })?;
        space.check_handles(self.handles.iter().map(|handle| ("handles", 0, Some(*handle))))?;
        // Full, and without a number: the first write to each opens a zone.
        let open = vec![OpenZone { number: u64::MAX, written: zone }; self.open as usize];
        Ok(Zones { zones, open, random: rng(seed, 0), opened: 0, config: self.clone() })
    }
}

#[derive(Clone, Copy)]
struct OpenZone {
    number: u64,
    /// The write pointer, in bytes.
    written: u64,
}

pub(super) struct Zones {
    config: ZonesConfig,
    zones: u64,
    open: Vec<OpenZone>,
    random: Rng,
    opened: u64,
}

impl Zones {
    /// Draws a zone that is not open.
    fn closed_zone(&mut self) -> u64 {
        loop {
            let number = self.random.below(self.zones);
            if self.open.iter().all(|zone| zone.number != number) {
                return number;
            }
        }
    }
}

impl Application for Zones {
    fn step(&mut self, out: &mut Vec<Command>) {
        let (size, write) = (self.config.zone.0, self.config.write.0);
        let at = self.random.below(self.open.len() as u64) as usize;
        let handle = match self.config.handles.len() {
            0 => None,
            handles => Some(self.config.handles[at % handles]),
        };
        if self.open[at].written == size {
            let number = self.closed_zone();
            self.open[at] = OpenZone { number, written: 0 };
            self.opened += 1;
            if self.config.discard {
                out.push(command(Op::Deallocate, 0, number * size, size, placement(None)));
            }
        }
        let zone = &mut self.open[at];
        out.push(command(
            Op::Write,
            0,
            zone.number * size + zone.written,
            write,
            placement(handle),
        ));
        zone.written += write;
    }

    fn figures(&self) -> Vec<Figure> {
        vec![count("zones_opened", self.opened, "", "zones that writes have begun")]
    }
}

#[cfg(test)]
mod tests;
