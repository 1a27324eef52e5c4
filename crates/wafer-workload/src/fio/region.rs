//! Which bytes of the namespace a job touches and how many it transfers: `size`, `filesize`,
//! `io_size`, `offset`, `offset_increment`, as fio computes them for a block device.

use super::settings::Settings;
use super::value::Amount;
use crate::job::Order;

/// Bytes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) offset: u64,
    pub(super) size: u64,
    /// Bytes transferred per loop.
    pub(super) io_size: u64,
}

/// What is wrong, and with which option.
type Blame = (&'static str, String);

/// Block sizes of a job, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// Smallest over all directions: what fio aligns to, even when the direction is not used.
    pub(super) smallest: u64,
    /// Smallest of the directions the job uses.
    pub(super) used: u64,
    /// The size of every command, when there is only one.
    pub(super) only: Option<u64>,
}

/// Region of one clone of a job.
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
        // Of 0 fio thinks it is not given.
        Some(Amount::Percent(percent)) if percent > 0 => part(limit, percent),
        _ => limit,
    };
    Ok(Region { offset, size, io_size })
}

/// A region of whole blocks. fio's sequential commands start within the region and may reach over its
/// end, though not over that of the device; random ones stay inside.
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
        // Of 0% fio thinks it is not given.
        Amount::Percent(percent) => (part(bytes, percent), percent > 0),
    };
    let (start, start_relative) = resolve(settings.offset);
    let (increment, increment_relative) = resolve(settings.offset_increment);
    let mut offset = u128::from(start) + u128::from(instance) * u128::from(increment);
    if start_relative || increment_relative {
        // fio rounds up to the next block, and only where a percentage is involved.
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

/// Bytes of the region and, when `size` limits a `filesize`, of the transfer.
fn size(
    settings: &Settings,
    offset: u64,
    namespace_bytes: u64,
    smallest: u64,
) -> Result<(u64, u64), Blame> {
    let rest = namespace_bytes - offset;
    let beyond = |bytes: u64| format!("{bytes} bytes; the namespace has {namespace_bytes}");
    // The end of the "file" and what of it lies behind the offset.
    let (end, mut region) = match settings.filesize {
        None => (namespace_bytes, rest),
        Some((low, high)) if low != high => {
            return Err(("filesize", "a random size is not supported".into()));
        }
        Some((bytes, _)) if bytes > namespace_bytes => return Err(("filesize", beyond(bytes))),
        Some((bytes, _)) => match bytes.checked_sub(offset) {
            Some(region) if region > 0 => (bytes, region),
            _ => return Err(("offset", format!("lies behind the {bytes} bytes of filesize"))),
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
                // fio ends such a job at the first address outside: nobody means that.
                let why = format!("offset {offset} and {bytes} bytes reach behind the namespace");
                return Err(("size", format!("{why}, which has {namespace_bytes}")));
            }
            // A sequential job ends at the end of the device.
            let region = bytes.min(rest);
            Ok((region, region))
        }
        // Not given, or 0 or 100%.
        _ if settings.fill_device && settings.order == Order::Random => {
            Err(("fill_device", "only a sequential job can fill the device".into()))
        }
        _ => Ok((region, region)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMESPACE: u64 = 1 << 30;

    fn of(change: impl Fn(&mut Settings), instance: u32) -> Result<(u64, u64, u64), Blame> {
        let mut settings = Settings::default();
        change(&mut settings);
        let blocks = Blocks { smallest: 4096, used: 4096, only: Some(4096) };
        region(&settings, instance, NAMESPACE, &blocks).map(|r| (r.offset, r.size, r.io_size))
    }

    #[test]
    fn whole_namespace_by_default() {
        assert_eq!(of(|_| (), 0), Ok((0, NAMESPACE, NAMESPACE)));
        assert_eq!(of(|s| s.size = Some(Amount::Bytes(0)), 0), Ok((0, NAMESPACE, NAMESPACE)));
        let half = NAMESPACE / 2;
        assert_eq!(of(|s| s.offset = Amount::Bytes(half), 0), Ok((half, half, half)));
    }

    #[test]
    fn percentages_round_the_offset_up_and_the_size_down() {
        // 10 % is 107374182.4, 26214.4 blocks.
        let tenth = |s: &mut Settings| {
            s.offset = Amount::Percent(10);
            s.size = Some(Amount::Percent(10));
        };
        assert_eq!(of(tenth, 0), Ok((26215 * 4096, 26214 * 4096, 26214 * 4096)));
        let align = |s: &mut Settings| {
            tenth(s);
            s.offset_align = Some(1 << 20);
        };
        assert_eq!(of(align, 0).map(|r| r.0), Ok(103 << 20));
        let last = |s: &mut Settings| {
            s.offset = Amount::Percent(90);
            s.size = Some(Amount::Percent(50));
        };
        let start = 235_930 * 4096;
        assert_eq!(of(last, 0).map(|r| (r.0, r.0 + r.1)), Ok((start, NAMESPACE)));
    }

    #[test]
    fn regions_are_whole_blocks() {
        let set = |order, offset| {
            move |s: &mut Settings| {
                s.order = order;
                s.offset = Amount::Bytes(offset);
                s.size = Some(Amount::Bytes(10_000));
            }
        };
        assert_eq!(of(set(Order::Sequential, 0), 0), Ok((0, 12288, 12288)));
        assert_eq!(of(set(Order::Random, 0), 0), Ok((0, 8192, 8192)));
        let end = NAMESPACE - 10_000;
        assert_eq!(of(set(Order::Sequential, end), 0), Ok((end, 8192, 8192)));
    }

    #[test]
    fn clones_are_apart_by_the_increment() {
        let set = |s: &mut Settings| {
            s.offset_increment = Amount::Bytes(1 << 20);
            s.size = Some(Amount::Bytes(1 << 20));
        };
        assert_eq!(of(set, 3), Ok((3 << 20, 1 << 20, 1 << 20)));
        assert_eq!(of(set, 1024).unwrap_err().0, "offset_increment");
        assert_eq!(
            of(|s| s.offset_increment = Amount::Bytes(u64::MAX), u32::MAX).unwrap_err().0,
            "offset_increment"
        );
    }

    #[test]
    fn what_reaches_behind_the_namespace() {
        let end = |order| {
            move |s: &mut Settings| {
                s.order = order;
                s.offset = Amount::Bytes(NAMESPACE - 8192);
                s.size = Some(Amount::Bytes(1 << 20));
            }
        };
        assert_eq!(of(end(Order::Sequential), 0), Ok((NAMESPACE - 8192, 8192, 8192)));
        assert_eq!(of(end(Order::Random), 0).unwrap_err().0, "size");
        assert_eq!(of(|s| s.size = Some(Amount::Bytes(NAMESPACE + 1)), 0).unwrap_err().0, "size");
        assert_eq!(of(|s| s.offset = Amount::Percent(100), 0).unwrap_err().0, "offset");
        assert_eq!(
            of(|s| s.filesize = Some((NAMESPACE * 2, NAMESPACE * 2)), 0).unwrap_err().0,
            "filesize"
        );
    }

    #[test]
    fn filesize_is_the_region_and_size_then_limits_the_transfer() {
        let set = |s: &mut Settings| {
            s.filesize = Some((1 << 20, 1 << 20));
            s.size = Some(Amount::Bytes(4096));
            s.offset = Amount::Bytes(8192);
        };
        assert_eq!(of(set, 0), Ok((8192, (1 << 20) - 8192, 4096)));
        let io = |s: &mut Settings| s.io_size = Some(Amount::Percent(25));
        assert_eq!(of(io, 0), Ok((0, NAMESPACE, NAMESPACE / 4)));
        let more = |s: &mut Settings| s.io_size = Some(Amount::Bytes(NAMESPACE * 7));
        assert_eq!(of(more, 0), Ok((0, NAMESPACE, NAMESPACE * 7)));
    }
}
