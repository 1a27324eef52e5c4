//! Random steps on random devices: the device and the oracle agree in everything.

use proptest::prelude::*;
use wafer_device::policy::{self, RuView, VictimPolicy};
use wafer_device::{Device, DeviceConfig, NamespaceConfig};
use wafer_interface::{Bytes, Command, NsId, Placement, RuId, RuhId};
use wafer_oracle::{Policy, Random, View, named, smallest_count};

use crate::agreement::{agree, agree_with, apply};
use crate::configs::{BLOCKS, Case, PAGE, Step, case, device, maintained, reading, step, tiny};
use crate::witness::Heard;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8_000))]

    #[test]
    fn segments_of_single_pages(case in tiny(250)) {
        agree(&case)?;
    }
}

/// Steps that also create and delete namespaces and reset counters.
fn any_step(blocks: u64) -> impl Strategy<Value = Step> {
    let namespace = 0..4u8;
    let pages = blocks / BLOCKS;
    let list = prop::collection::vec((0..5u16).prop_map(RuhId), 0..4);
    let short = (0..blocks, 1..400u32, 0..4u16, namespace.clone(), any::<bool>()).prop_map(
        |(lba, blocks, placement, namespace, deallocates)| {
            let command = match deallocates {
                true => Command::deallocate(lba, blocks),
                false => Command::write(lba, blocks, Placement(placement)),
            };
            Step::Command(command.on(NsId(namespace)))
        },
    );
    prop_oneof![
        16 => step(blocks, 4000),
        8 => short,
        1 => (0..pages, list).prop_map(|(pages, list)| Step::Create(pages, list)),
        1 => namespace.prop_map(|namespace| Step::Delete(NsId(namespace))),
        1 => Just(Step::Reset),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn namespaces_come_and_go(case in case(device(2..8, Just(16)), any_step, 200)) {
        agree(&case)?;
    }

    #[test]
    fn a_device_is_refused_exactly_where_it_could_run_out_of_victims(
        config in device(2..40, 16..100u64),
    ) {
        let accepts = |count| {
            let mut config: DeviceConfig = config.clone();
            config.reclaim_unit.count = Some(count);
            config.resolve().is_ok()
        };
        let smallest = smallest_count(&config);
        prop_assert!(accepts(smallest));
        prop_assert!(!(smallest.saturating_sub(20)..smallest).any(accepts));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn firmware_of_every_kind(case in case(maintained(device(2..12, Just(16))), reading, 300)) {
        agree(&case)?;
    }

    #[test]
    fn firmware_while_namespaces_come_and_go(
        case in case(maintained(device(2..8, Just(16))), any_step, 200),
    ) {
        agree(&case)?;
    }

    #[test]
    fn firmware_of_larger_segments(case in case(maintained(device(2..8, 64..300u64)), reading, 300)) {
        agree(&case)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// A namespace that moves to other pages keeps its map entries.
    #[test]
    fn firmware_with_a_namespace_that_moves(
        case in case(maintained(device(4..12, Just(16))), reading, 300), entries in 1..8u32,
    ) {
        let mut config = case.config;
        let pages = config.capacity.0 / PAGE;
        let namespace = |pages| NamespaceConfig { size: Bytes(pages * PAGE), handles: vec![0] };
        config.namespaces = vec![namespace(pages / 2), namespace(pages / 4)];
        config.firmware.mapping_entries = entries;
        config.firmware.mapping_cache = Bytes(2 * PAGE);
        let page = |page, namespace| {
            let write = Command::write(page * BLOCKS, BLOCKS as u32, Placement(0));
            Step::Command(write.on(NsId(namespace)))
        };
        // The first namespace leaves a gap smaller than the next one, so the second moves.
        let moves = [Step::Delete(NsId(0)), Step::Create(pages * 5 / 8, vec![RuhId(0)])];
        let steps = (0..pages / 4).map(|at| page(at, 1)).chain(moves);
        let steps = steps.chain((0..pages / 2).flat_map(|at| [page(at, 0), page(at * 7 % 16, 1)]));
        agree(&Case { config, steps: steps.chain(case.steps).collect(), ..case })?;
    }
}

/// The victims of a policy, with destinations drawn at random.
struct Draws<P>(P);

impl VictimPolicy for Draws<Box<dyn VictimPolicy>> {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        self.0.select(rus)
    }

    fn destination(&mut self, _: RuId, rus: &mut RuView<'_>) -> Option<u8> {
        (rus.draw(u32::from(rus.classes) + 1) as u8).checked_sub(1)
    }
}

impl Policy for Draws<Box<dyn Policy>> {
    fn select(&mut self, view: &View, random: &mut Random) -> Option<RuId> {
        self.0.select(view, random)
    }

    fn destination(&mut self, _: RuId, view: &View, random: &mut Random) -> Option<u8> {
        (random.below(u32::from(view.classes) + 1) as u8).checked_sub(1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_choice_of_destination(case in tiny(250)) {
        let mut case = case;
        if named(&case.config.gc).is_none() {
            case.config.gc.policy = "greedy".to_owned();
        }
        let (device, oracle) = (policy::make(&case.config.gc), named(&case.config.gc));
        agree_with(&case, Box::new(Draws(device.unwrap())), Some(Box::new(Draws(oracle.unwrap()))))?;
    }
}

/// Takes the fullest candidate, which is never useful.
struct Fullest;

impl VictimPolicy for Fullest {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        rus.candidates().max_by_key(|(_, valid)| *valid).map(|(ru, _)| ru)
    }
}

impl Policy for Fullest {
    fn select(&mut self, view: &View, _: &mut Random) -> Option<RuId> {
        view.candidates.iter().max_by_key(|c| c.valid).map(|c| c.ru)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_policy_that_prefers_full_victims(case in tiny(250)) {
        agree_with(&case, Box::new(Fullest), Some(Box::new(Fullest)))?;
    }
}

/// If host and collection share a log, each collection of a full reclaim unit fills the one just opened for the host.
#[test]
fn a_policy_that_prefers_full_victims_does_not_stop_the_host() {
    let config: DeviceConfig = serde_json::from_value(serde_json::json!({
        "capacity": 143 << 16, "page": "64KiB", "reclaim_unit": { "size": "1MiB", "count": 11 },
        "handles": 1, "fdp": false, "gc": { "separate": false },
    }))
    .unwrap();
    let write = |page| Step::Command(Command::write(page * BLOCKS, 128, Placement::NONE));
    let steps = (0..143).chain((0..2000).map(|i| i * 37 % 143)).map(write).collect();
    let case = Case { config, steps, batch: 1, seed: 0 };
    agree_with(&case, Box::new(Fullest), Some(Box::new(Fullest))).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// The division of commands into batches does not matter, with or without attribution.
    #[test]
    fn batches_do_not_matter(case in case(device(2..12, 16..300u64), |b| step(b, 4000), 300)) {
        let mut whole = Device::new(&case.config, case.seed).unwrap();
        let observed = || Device::with_observer(&case.config, case.seed, Heard::with_attribution()).unwrap();
        let (mut single, mut attributed) = (observed(), observed());
        let commands = |step: &Step| matches!(step, Step::Command(_));
        let steps: Vec<Step> = case.steps.iter().filter(|s| commands(s)).cloned().collect();
        apply(&mut whole, &steps);
        apply(&mut attributed, &steps);
        for step in steps.chunks(1) {
            apply(&mut single, step);
        }
        prop_assert_eq!(whole.counters(), single.counters());
        prop_assert_eq!(whole.handle_counters(), single.handle_counters());
        prop_assert_eq!(whole.gc_counters(), single.gc_counters());
        prop_assert_eq!(whole.map_bytes(), single.map_bytes());
        prop_assert_eq!(whole.check_invariants(), Ok(()));
        prop_assert_eq!(single.check_invariants(), Ok(()));
        prop_assert_eq!(single.attribution(), attributed.attribution());
        prop_assert_eq!(&single.observer().events, &attributed.observer().events);
    }
}
