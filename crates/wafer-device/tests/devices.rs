//! Small devices, and traffic for them.

use wafer_device::policy::POLICIES;
use wafer_device::{Destination, DeviceConfig, Isolation, Separation};
use wafer_interface::{Bytes, Command, FirmwareConfig, NsId, Op, Placement};

/// Bytes of a page, and pages of a reclaim unit.
pub(crate) const PAGE: u64 = 65536;
pub(crate) const PAGES: u64 = 16;
/// Number of logical reclaim units.
pub(crate) const RUS: u64 = 40;
/// Logical blocks of a page and of the device.
pub(crate) const BLOCKS: u64 = PAGE / 512;
const CAPACITY: u64 = RUS * PAGES * BLOCKS;

/// Returns every policy with every destination of relocated data.
pub(crate) fn all() -> Vec<DeviceConfig> {
    let destinations = [
        Destination::Isolation,
        Destination::Host,
        Destination::Shared,
        Destination::Handle,
        Destination::Generation,
        Destination::Writer,
    ];
    let separations = [
        Separation::Sepbit,
        Separation::Midas,
        Separation::MultiLog,
        Separation::Dac,
        Separation::Warcip,
        Separation::AutoStream,
        Separation::Fadac,
        Separation::DeathTime,
    ];
    let mut all = Vec::new();
    for policy in POLICIES {
        let base = config(policy.name);
        for destination in destinations {
            let mut config = base.clone();
            config.gc.destination = Some(destination);
            all.push(config);
        }
        for separation in separations {
            let mut config = base.clone();
            config.gc.separation = Some(separation);
            all.push(config);
        }
        let mut isolated = base.clone();
        isolated.isolation = Isolation::Persistently;
        let mut grouped = base.clone();
        grouped.groups = 2;
        let mut maintained = base.clone();
        maintained.firmware = firmware();
        all.extend([base, isolated, grouped, maintained]);
    }
    all.into_iter().map(fitted).collect()
}

/// All functions of a drive besides garbage collection, except an SLC cache.
fn firmware() -> FirmwareConfig {
    FirmwareConfig {
        write_buffer: Bytes(5 * PAGE),
        parity: 7,
        wear_difference: 6,
        refresh_after: 0.8,
        reads_before_move: 30,
        open_limit: 0.5,
        retire_after: 40,
        mapping_cache: Bytes(4 * PAGE),
        mapping_entries: 16,
        ..FirmwareConfig::default()
    }
}

/// Returns the device with the fewest reclaim units that work, plus two.
fn fitted(mut config: DeviceConfig) -> DeviceConfig {
    config.reclaim_unit.count = Some(1);
    // The message ends with the smallest count that works.
    let message = config.resolve().unwrap_err().message;
    let smallest: u64 = message.rsplit(' ').next().unwrap().parse().unwrap();
    config.reclaim_unit.count = Some(smallest + 2);
    config
}

/// Returns a device with three handles and 40 logical reclaim units.
pub(crate) fn config(policy: &str) -> DeviceConfig {
    let config = serde_json::json!({
        "capacity": RUS * PAGES * PAGE, "page": PAGE, "handles": 3,
        "reclaim_unit": { "size": PAGES * PAGE },
        "gc": { "policy": policy, "background_free": 0.3, "background_max_valid": 0.4 },
    });
    fitted(serde_json::from_value(config).unwrap())
}

/// Returns a fill, then three streams: one sequential over nine tenths, one random over the same, and one random over
/// the rest; and now and then a part of a page, a deallocation, a read, an update or a command out of range.
pub(crate) fn traffic(count: u64, seed: u64) -> Vec<Command> {
    let mut random = random(seed);
    let most = RUS * PAGES * 9 / 10;
    let write =
        |page: u64, handle: u16| Command::write(page * BLOCKS, BLOCKS as u32, Placement(handle));
    let fill = (0..RUS * PAGES).map(|page| write(page, u16::from(page >= most)));
    let mut next = 0;
    let mixed = (0..count).map(|at| match random(100) {
        0 => Command::deallocate(random(CAPACITY), random(2000) as u32),
        1 => Command::update(NsId(0), Placement(random(4) as u16)),
        2 => Command::write(random(CAPACITY), random(1000) as u32, Placement(random(5) as u16)),
        3 => Command { op: Op::Read, ..write(random(RUS * PAGES), 0) },
        _ => match at % 5 {
            0 => write(most + random(RUS * PAGES - most), 1),
            1 => write(random(most), 2),
            _ => {
                next = (next + 1) % most;
                write(next, 0)
            }
        },
    });
    fill.chain(mixed).collect()
}

/// Returns a source of pseudorandom numbers below a bound, by SplitMix64.
pub(crate) fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |bound| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * u128::from(bound)) >> 64) as u64
    }
}
