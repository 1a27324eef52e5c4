//! The bytes of the namespace that a job accesses and the number that it transfers: `size`, `filesize`, `io_size`,
//! `offset`, `offset_increment`, as fio computes them for a block device.

use super::settings::Settings;
use super::value::Amount;
use wafer_fio::job::Order;

/// The region of a job, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) offset: u64,
    pub(super) size: u64,
    /// Bytes transferred per loop.
    pub(super) io_size: u64,
}

/// The option at fault, and what is wrong.
type Blame = (&'static str, String);

/// Block sizes of a job, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// The smallest of all directions, used or not: fio aligns to it.
    pub(super) smallest: u64,
    /// The smallest of the directions that the job uses.
    pub(super) used: u64,
    /// The size of every command, if there is only one size and passes end. Otherwise, the last command may go beyond
    /// `size`.
    pub(super) only: Option<u64>,
}

/// Returns the region of one clone of a job.
pub(super) fn region(
    settings: &Settings,
    instance: u32,
    namespace_bytes: u64,
    blocks: &Blocks,
) -> Result<Region, Blame> {
    let offset = offset(settings, instance, namespace_bytes, blocks.smallest)?;
    let (given, mut limit) = size(settings, offset, namespace_bytes, blocks.smallest)?;
    if given < blocks.used {
        let used = blocks.used;
        return Err(("size", format!("region of {given} bytes holds no block of {used} bytes")));
    }
    let size = match blocks.only {
        Some(block) => whole(given, block, settings.order, namespace_bytes - offset),
        None => given,
    };
    if limit == given {
        limit = size;
    }
    let io_size = match settings.io_size {
        Some(Amount::Bytes(bytes)) if bytes > 0 => bytes,
        // fio treats 0 as not given.
        Some(Amount::Percent(percent)) if percent > 0 => part(limit, percent),
        _ => limit,
    };
    Ok(Region { offset, size, io_size })
}

/// Returns the size of a region in whole blocks. fio's sequential commands start within the region and may extend past
/// its end, though not past the end of the device; random ones stay inside.
fn whole(bytes: u64, block: u64, order: Order, room: u64) -> u64 {
    let down = bytes / block * block;
    match order {
        Order::Sequential if down < bytes && room - down >= block => down + block,
        _ => down,
    }
}

fn part(of: u64, percent: u64) -> u64 {
    let bytes = u128::from(of) * u128::from(percent) / 100;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn offset(settings: &Settings, instance: u32, bytes: u64, smallest: u64) -> Result<u64, Blame> {
    let resolve = |amount| match amount {
        Amount::Bytes(bytes) => (bytes, false),
        // fio treats 0% as not given.
        Amount::Percent(percent) => (part(bytes, percent), percent > 0),
    };
    let (start, start_relative) = resolve(settings.offset);
    let (increment, increment_relative) = resolve(settings.offset_increment);
    let mut offset = u128::from(start) + u128::from(instance) * u128::from(increment);
    if start_relative || increment_relative {
        // fio rounds up to the next block, but only if a percentage is involved.
        let align = u128::from(settings.offset_align.unwrap_or(smallest).max(1));
        offset = offset.div_ceil(align) * align;
    }
    match u64::try_from(offset) {
        Ok(offset) if offset < bytes => Ok(offset),
        _ => {
            let option = if instance > 0 && increment > 0 { "offset_increment" } else { "offset" };
            let end = format!("the namespace ends at {bytes}");
            Err((option, format!("the job would start at byte {offset}; {end}")))
        }
    }
}

/// Returns the bytes of the region and of the transfer, which differ if `size` limits a `filesize`.
fn size(
    settings: &Settings,
    offset: u64,
    namespace_bytes: u64,
    smallest: u64,
) -> Result<(u64, u64), Blame> {
    let rest = namespace_bytes - offset;
    let beyond = |bytes: u64| format!("{bytes} bytes; the namespace has {namespace_bytes}");
    // The end of the "file", and its bytes from the offset on.
    let (end, mut region) = match settings.filesize {
        None => (namespace_bytes, rest),
        Some((low, high)) if low != high => {
            return Err(("filesize", "a random size is not supported".into()));
        }
        Some((bytes, _)) if bytes > namespace_bytes => return Err(("filesize", beyond(bytes))),
        Some((bytes, _)) => match bytes.checked_sub(offset) {
            Some(region) if region > 0 => (bytes, region),
            _ => return Err(("offset", format!("lies beyond the {bytes} bytes of filesize"))),
        },
    };
    match settings.size {
        Some(Amount::Percent(percent @ 1..=99)) => {
            region = part(end, percent).min(region);
            region -= region % smallest.max(1);
            Ok((region, region))
        }
        Some(Amount::Bytes(bytes)) if bytes > 0 => {
            if bytes > namespace_bytes {
                return Err(("size", beyond(bytes)));
            }
            if settings.filesize.is_some() {
                return Ok((region, bytes.min(region)));
            }
            if bytes > rest && settings.order == Order::Random {
                // fio ends such a job at the first address outside, which nobody wants.
                let why = format!("offset {offset} and {bytes} bytes reach beyond the namespace");
                return Err(("size", format!("{why}, which has {namespace_bytes}")));
            }
            // A sequential job ends at the end of the device.
            let region = bytes.min(rest);
            Ok((region, region))
        }
        // Not given, 0 or 100%.
        _ if settings.fill_device && settings.order == Order::Random => {
            Err(("fill_device", "only a sequential job can fill the device".into()))
        }
        _ => Ok((region, region)),
    }
}

#[cfg(test)]
mod tests;
