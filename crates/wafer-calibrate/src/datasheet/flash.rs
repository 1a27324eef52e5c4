//! Infers the dies and their program time from capacity and sequential write rate.

use super::Datasheet;

/// Bytes of a die: 512 Gb and 1 Tb.
const DIES: [u64; 2] = [64 << 30, 128 << 30];
/// Typical media rate of a TLC die in bytes per second: 82 to 94 MB/s on PM9A3, 7450 MAX and PM9D3a.
const DIE_RATE: f64 = 88e6;
/// Bytes of a page of one plane.
pub(super) const PLANE_PAGE: u64 = 16 << 10;
/// Bits of a cell.
pub(super) const CELL_BITS: u32 = 3;

/// The flash of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flash {
    pub(super) dies: u32,
    pub(super) die_bytes: u64,
    pub(super) planes: u32,
    /// Microseconds of a program with which all dies together reach the sequential write rate.
    pub(super) program_us: f64,
}

impl Flash {
    /// Returns the flash with the most typical media rate per die, for `physical` bytes.
    pub(super) fn of(sheet: &Datasheet, physical: f64) -> Self {
        let rate = sheet.seq_write.0 as f64;
        let count = |die: u64| ((physical / die as f64 / 2.0).ceil() * 2.0).max(2.0);
        let far = |die: &u64| (rate / count(*die) / DIE_RATE).ln().abs();
        let [small, large] = DIES;
        let die_bytes = if far(&large) < far(&small) { large } else { small };
        let dies = count(die_bytes);
        // With fewer planes, a program would be shorter than any TLC program.
        let planes = if Self::time(rate, dies, 2) < 500.0 { 4 } else { 2 };
        let program_us = Self::time(rate, dies, planes);
        Flash { dies: dies as u32, die_bytes, planes, program_us }
    }

    fn time(rate: f64, dies: f64, planes: u32) -> f64 {
        let time = dies * bytes(planes) as f64 / rate * 1e6;
        (time * 10.0).round() / 10.0
    }

    pub(super) fn program_bytes(&self) -> u64 {
        bytes(self.planes)
    }

    /// Returns the media rate of a die in bytes per second.
    pub(super) fn die_rate(&self, sheet: &Datasheet) -> f64 {
        sheet.seq_write.0 as f64 / f64::from(self.dies)
    }
}

fn bytes(planes: u32) -> u64 {
    u64::from(planes) * PLANE_PAGE * u64::from(CELL_BITS)
}
