//! The functions besides garbage collection have the effects that their keys promise.

use wafer_device::{Device, DeviceConfig};
use wafer_interface::{
    Bytes, Closed, Collection, Command, Counters, FdpEvent, Observer, Op, Placement, RuId,
};

use crate::devices::{PAGE, PAGES, RUS, config, random};

const BLOCKS: u64 = PAGE / 512;

/// Returns the device of 40 logical and 52 physical reclaim units with these keys of `firmware`.
fn device(keys: serde_json::Value) -> DeviceConfig {
    let mut config = config("greedy");
    config.reclaim_unit.count = Some(RUS + 12);
    config.gc.background_free = 0.0;
    config.firmware = serde_json::from_value(keys).unwrap();
    config
}

fn page(page: u64) -> Command {
    Command::write(page * BLOCKS, BLOCKS as u32, Placement(0))
}

fn fill() -> Vec<Command> {
    (0..RUS * PAGES).map(page).collect()
}

/// Returns random writes to the first `pages` pages.
fn writes(count: u64, pages: u64) -> Vec<Command> {
    let mut random = random(7);
    (0..count).map(|_| page(random(pages))).collect()
}

fn run<O: Observer>(config: &DeviceConfig, observer: O, commands: &[Vec<Command>]) -> Device<O> {
    let mut device = Device::with_observer(config, 0, observer).unwrap();
    commands.iter().for_each(|commands| device.apply(commands));
    device.check_invariants().unwrap();
    device
}

fn counters(keys: serde_json::Value, commands: &[Vec<Command>]) -> Counters {
    run(&device(keys), (), commands).counters()
}

#[test]
fn a_buffer_unites_sequential_writes_of_parts_of_pages() {
    let small: Vec<Command> =
        (0..RUS * PAGES * 16).map(|at| Command::write(at * 8, 8, Placement(0))).collect();
    let plain = counters(serde_json::json!({}), std::slice::from_ref(&small));
    // 4 KiB writes on pages of 64 KiB, and garbage collection of 16 device writes.
    assert!(plain.waf() > 16.9 && plain.rmw_pages == RUS * PAGES * 16, "{plain:?}");
    let united = counters(serde_json::json!({"write_buffer": 2 * PAGE}), &[small]);
    // The last two pages still wait.
    assert_eq!((united.host_pages, united.rmw_pages), (RUS * PAGES - 2, 0));
    assert_eq!(united.host_bytes, RUS * PAGES * PAGE);
}

#[test]
fn a_buffer_absorbs_what_is_overwritten_in_it() {
    let hot = writes(2000, 8);
    let absorbed = counters(serde_json::json!({"write_buffer": 8 * PAGE}), &[hot]);
    assert_eq!((absorbed.host_pages, absorbed.host_bytes), (0, 2000 * PAGE));
}

#[test]
fn an_slc_cache_writes_twice_what_is_not_overwritten_in_it() {
    let keys = serde_json::json!({"slc_cache": 64 * PAGE});
    let once = counters(keys.clone(), &[fill()]);
    assert_eq!((once.cache_pages, once.host_pages), (RUS * PAGES, RUS * PAGES - 64));
    assert_eq!(once.media_bytes, (once.cache_pages + once.host_pages) * PAGE);
    let hot = counters(keys, &[writes(2000, 8)]);
    // The space of overwritten pages is lost until their turn, so a few pages leave.
    assert_eq!(hot.cache_pages, 2000);
    assert!(hot.host_pages < 20, "{hot:?}");
}

#[test]
fn parity_costs_its_share_of_full_units_and_more_of_those_closed_early() {
    let all = [fill(), writes(3000, RUS * PAGES)];
    let plain = counters(serde_json::json!({}), &all);
    let with = counters(serde_json::json!({"parity": 15}), &all);
    // Two parity pages for 16 of data: the second stripe has one page.
    let closed = (with.host_pages + with.relocated_pages) / PAGES;
    assert!(with.parity_pages <= closed * 2 && with.parity_pages + 8 >= closed * 2, "{with:?}");
    assert_eq!(with.relocated_pages, plain.relocated_pages, "it takes no reclaim unit");
    let even = counters(serde_json::json!({"parity": 16}), &all);
    assert!(even.parity_pages * 2 <= with.parity_pages + 1);
}

/// Records what was closed, collected and overdue.
#[derive(Default)]
struct Seen {
    overdue: u64,
    unwritten: u64,
    collected: Vec<(RuId, u32)>,
}

impl Observer for Seen {
    fn collected(&mut self, collection: &Collection) {
        self.collected.push((collection.victim, collection.valid));
    }

    fn closed(&mut self, closed: &Closed) {
        self.unwritten += u64::from(closed.unwritten);
    }

    fn event(&mut self, event: &FdpEvent) {
        self.overdue += u64::from(matches!(event, FdpEvent::TimeLimitExceeded { .. }));
    }
}

#[test]
fn wear_levelling_moves_cold_data_and_bounds_the_difference() {
    let all = [fill(), writes(40_000, 5 * PAGES)];
    let spread = |device: &Device| {
        // An open unit that no host writes is never erased.
        let closed = (0..device.geometry().ru_count).map(RuId).filter(|ru| device.is_closed(*ru));
        let erases = closed.map(|ru| device.erase_count(ru));
        erases.clone().max().unwrap() - erases.min().unwrap()
    };
    let plain = run(&device(serde_json::json!({})), (), &all);
    let levelled = run(&device(serde_json::json!({"wear_difference": 20})), (), &all);
    assert!(spread(&plain) > 100, "cold data stays: {}", spread(&plain));
    assert!(spread(&levelled) <= 25, "{}", spread(&levelled));
    let counted = levelled.counters();
    assert!(counted.maintained_rus > 20, "{counted:?}");
    assert!(counted.maintained_pages <= counted.relocated_pages);
    assert!(counted.waf() > plain.counters().waf());
}

#[test]
fn refresh_moves_data_that_is_never_overwritten() {
    let all = [fill(), writes(10 * RUS * PAGES, 5 * PAGES)];
    let refreshed = counters(serde_json::json!({"refresh_after": 2.0}), &all);
    let plain = counters(serde_json::json!({}), &all);
    // 35 cold units, about five times in ten device writes: every two, plus a check up to one reclaim unit later.
    let moved = refreshed.maintained_pages / PAGES;
    assert!((35 * 4..=35 * 6).contains(&moved), "{moved} of {refreshed:?}");
    assert!(refreshed.waf() > plain.waf() + 0.2, "{} {}", refreshed.waf(), plain.waf());
}

#[test]
fn reads_move_what_they_disturb() {
    let read = |at: u64| Command { op: Op::Read, ..page(at) };
    let reads: Vec<Command> = (0..1000).map(|at| read(at % PAGES)).collect();
    let config = device(serde_json::json!({"reads_before_move": 100}));
    let device = run(&config, Seen::default(), &[fill(), reads.clone()]);
    // 1,000 reads of one unit's data, which moves every hundred reads. Its data is then in an open unit until that is
    // full.
    let moved = device.counters().maintained_rus;
    assert!((1..=10).contains(&moved), "{moved}");
    assert_eq!(device.observer().collected[0].1, PAGES as u32, "whole units move");
    let off = run(&self::device(serde_json::json!({})), (), &[fill(), reads]);
    assert_eq!(off.counters().maintained_rus, 0);
}

#[test]
fn an_open_unit_is_closed_at_its_limit() {
    // Handle 1 writes one page, then handle 0 a device write.
    let one = vec![Command::write(0, BLOCKS as u32, Placement(1))];
    let config = device(serde_json::json!({"open_limit": 0.5}));
    let device = run(&config, Seen::default(), &[one.clone(), fill()]);
    assert_eq!((device.observer().overdue, device.observer().unwritten), (1, PAGES - 1));
    let never = run(&self::device(serde_json::json!({})), Seen::default(), &[one, fill()]);
    assert_eq!(never.observer().overdue, 0);
}

/// Returns a device at the end of its life. Of 52 units, 40 hold the data and one more is needed; one is kept free, and
/// up to five are open.
fn ended() -> Device {
    let device = run(
        &device(serde_json::json!({"retire_after": 50})),
        (),
        &[fill(), writes(60_000, RUS * PAGES)],
    );
    assert!(device.check_writable().is_err());
    device
}

#[test]
fn worn_units_are_retired_until_no_more_can_be_spared() {
    let keys = serde_json::json!({"retire_after": 50});
    let (mut device, mut spare) = (Device::new(&device(keys), 0).unwrap(), 100);
    device.apply(&fill());
    assert_eq!((device.spare_percent(), device.check_writable()), (Some(100), Ok(())));
    for write in writes(60_000, RUS * PAGES) {
        let now = device.spare_percent().unwrap();
        assert!(now <= spare, "{now}");
        (spare, _) = (now, device.apply(&[write]));
    }
    let refused = device.check_writable().unwrap_err();
    assert!((3..=6).contains(&refused.retired) && spare == 0, "{refused:?}");
    let text = format!(
        "the drive is read-only: {} of 52 reclaim units are worn out and retired, and no more can be spared",
        refused.retired
    );
    assert_eq!(refused.to_string(), text);
    let plain = run(&self::device(serde_json::json!({})), (), &[fill()]);
    assert_eq!((plain.spare_percent(), plain.retired_rus()), (None, 0));
}

#[test]
fn a_read_only_device_refuses_changes_and_still_reads() {
    let mut device = ended();
    let (before, map) = (device.counters(), device.map_bytes().to_vec());
    let read = Command { op: Op::Read, ..page(3) };
    let update = Command::update(wafer_interface::NsId(0), Placement(0));
    device.apply(&[page(1), Command::deallocate(0, 1000), update, read]);
    let after = device.counters();
    assert_eq!(after.rejected - before.rejected, 3);
    assert_eq!(after.read_bytes - before.read_bytes, PAGE);
    assert_eq!((after.media_bytes, device.map_bytes()), (before.media_bytes, &map[..]));
    // Commands that were accepted earlier are applied.
    device.apply_accepted(&[page(1), page(2)]);
    let accepted = device.counters();
    assert_eq!(accepted.host_pages - after.host_pages, 2);
    assert_eq!(accepted.rejected, after.rejected);
    device.apply(&[page(1)]);
    assert_eq!(device.counters().rejected, after.rejected + 1);
    device.check_invariants().unwrap();
}

/// The fast path of writes requires segments of more than two pages, and a handle whose unit has room when that of
/// another handle fills up and the device ends.
#[test]
fn a_device_refuses_the_rest_of_the_batch_in_which_it_ends() {
    let mut config = config("greedy");
    let (pages_per_ru, rus) = (4096, 12);
    config.capacity = Bytes(rus * pages_per_ru * PAGE);
    config.reclaim_unit.size = Bytes(pages_per_ru * PAGE);
    config.reclaim_unit.count = Some(rus + 8);
    config.firmware = serde_json::from_value(serde_json::json!({"retire_after": 4})).unwrap();
    let pages = rus * pages_per_ru;
    let mut all = [(0..pages).map(page).collect(), writes(6 * pages, pages)];
    for write in &mut all[1] {
        write.placement = Placement(u16::from(write.lba < pages * BLOCKS / 5));
    }
    let whole = run(&config, (), &all);
    assert!(whole.geometry().segment_pages >= 4 && whole.check_writable().is_err());
    // One by one: the writes that were accepted are those before the device ended.
    let (mut single, mut accepted) = (Device::new(&config, 0).unwrap(), 0);
    for write in all.iter().flatten() {
        accepted += u64::from(single.check_writable().is_ok());
        single.apply(&[*write]);
    }
    assert_eq!(whole.counters().host_pages, accepted);
    assert_eq!(whole.counters(), single.counters());
}

#[test]
fn a_device_stays_read_only_when_it_is_restored() {
    let device = ended();
    let config = self::device(serde_json::json!({"retire_after": 50}));
    let map = device.map_bytes().to_vec();
    let fill = |target: &mut [u8]| {
        target.copy_from_slice(&map);
        Ok(())
    };
    let restored = Device::restore(&config, (), device.state(), fill).unwrap();
    assert_eq!(restored.check_writable(), device.check_writable());
}

/// Returns the keys for a map of 40 translation pages, of which `pages` are in memory.
fn map(pages: u64) -> serde_json::Value {
    serde_json::json!({"mapping_cache": pages * PAGE, "mapping_entries": 16})
}

#[test]
fn a_map_in_memory_costs_nothing() {
    let all = [fill(), writes(20_000, RUS * PAGES)];
    let (whole, plain) = (counters(map(40), &all), counters(serde_json::json!({}), &all));
    assert_eq!(whole, plain);
    assert_eq!(whole.map_reads, 0);
}

#[test]
fn sequential_writes_program_each_translation_page_once() {
    let filled = counters(map(1), &[fill(), fill()]);
    // The last one is in memory. Data of one device write is invalidated together, so nothing moves.
    assert_eq!((filled.map_pages, filled.map_reads, filled.relocated_pages), (79, 40, 0));
    assert_eq!(filled.media_bytes, (filled.host_pages + 79) * PAGE);
}

#[test]
fn random_writes_cost_a_translation_page_each_and_relocation_more() {
    let all = [fill(), writes(20_000, RUS * PAGES)];
    let few = counters(map(2), &all);
    let per_write = few.map_pages as f64 / few.host_pages as f64;
    // 19 of 20 writes miss; collections relocate about 2 pages for each write, some of which share a translation page;
    // and the region moves a quarter.
    let moved = few.relocated_pages as f64 / few.host_pages as f64;
    assert!((1.1..1.0 + 1.3 * (1.0 + moved)).contains(&per_write), "{per_write} {moved}");
    let half = counters(map(20), &all);
    assert!(half.map_pages * 4 < few.map_pages * 3, "{} {}", half.map_pages, few.map_pages);
    assert_eq!(half.relocated_pages, few.relocated_pages, "the map takes no reclaim unit");
}

#[test]
fn reads_use_the_map_but_change_nothing() {
    let read = |at: u64| Command { op: Op::Read, ..page(at) };
    let reads: Vec<Command> = (0..1000).map(|at| read(at * 16 % (RUS * PAGES))).collect();
    let (with, filled) = (counters(map(2), &[fill(), reads]), counters(map(2), &[fill()]));
    assert_eq!(with.map_reads - filled.map_reads, 1000);
    assert_eq!(with.map_pages - filled.map_pages, 2, "those that were in memory");
}

#[test]
fn bad_keys_are_refused_by_name() {
    for (keys, text) in [
        (serde_json::json!({"parity": 1025}), "firmware.parity: 1025 is not between 0 and 1024"),
        (
            serde_json::json!({"refresh_after": -1.0}),
            "firmware.refresh_after: -1 is not between 0 and 1000000",
        ),
        (
            serde_json::json!({"write_buffer": "1TiB"}),
            "firmware.write_buffer: 1TiB is more than the capacity, 40MiB",
        ),
        (
            serde_json::json!({"slc_cache": "4KiB"}),
            "firmware.slc_cache: 4KiB is less than a page (64KiB)",
        ),
        (
            serde_json::json!({"mapping_cache": "128KiB"}),
            "firmware.mapping_cache: 128KiB is more than the map takes, 64KiB",
        ),
    ] {
        let error = device(keys).resolve().unwrap_err();
        assert_eq!(format!("{}: {}", error.key, error.message), text);
    }
    let mut groups = device(serde_json::json!({"retire_after": 5}));
    groups.groups = 2;
    groups.reclaim_unit.count = Some(80);
    assert_eq!(groups.resolve().unwrap_err().key, "firmware.retire_after");
    assert_eq!(Bytes(PAGE), groups.page);
}
