//! The device whose segments are single pages against the page-mapped one: equal in everything.

use proptest::prelude::*;

use super::configs::{Step, Tiny, tiny};
use crate::oracle::PageMapped;
use crate::*;

/// Remembers events but those of relocation.
#[derive(Default)]
struct Events(Vec<FdpEvent>);

impl Observer for Events {
    const ATTRIBUTION: bool = true;

    fn event(&mut self, event: &FdpEvent) {
        if !matches!(event, FdpEvent::MediaReallocated { .. }) {
            self.0.push(*event);
        }
    }
}

fn agree(case: &Tiny) -> Result<(), TestCaseError> {
    agree_with(case, &|| policy::make(&case.config.gc).unwrap())
}

pub(super) fn agree_with(
    case: &Tiny,
    policy: &dyn Fn() -> Box<dyn policy::VictimPolicy>,
) -> Result<(), TestCaseError> {
    let mut geometry = Geometry::resolve(&case.config).unwrap();
    geometry.segment_pages = 1;
    let mut oracle = PageMapped::with_geometry(geometry.clone(), policy(), case.seed);
    let mut device =
        Device::with_geometry(geometry.clone(), policy(), case.seed, Events::default()).unwrap();
    for (at, step) in case.steps.iter().enumerate() {
        match step {
            Step::Command(command) => {
                oracle.apply(&[*command]);
                device.apply(&[*command]);
            }
            Step::Update(namespace, placement) => {
                let unwritten = device.update_reclaim_unit(*namespace, *placement);
                prop_assert_eq!(unwritten, oracle.update_reclaim_unit(*namespace, *placement));
            }
        }
        prop_assert_eq!(device.counters(), oracle.counters(), "after step {}: {:?}", at, step);
    }
    prop_assert_eq!(device.check_invariants(), Ok(()));
    prop_assert_eq!(&device.handles, oracle.all_handle_counters());
    prop_assert_eq!(&device.observer().0, oracle.events());
    prop_assert_eq!(device.attribution(), Some(oracle.attribution()));
    for ru in (0..geometry.ru_count).map(RuId) {
        prop_assert_eq!(device.valid_pages(ru), oracle.valid_pages(ru));
        prop_assert_eq!(device.erase_count(ru), oracle.erase_count(ru));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn single_page_segments_agree_with_the_oracle(case in tiny(Just(16u64), 250)) {
        agree(&case)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Nor does attribution.
    #[test]
    fn batches_do_not_matter(case in tiny(16..300u64, 300)) {
        let commands: Vec<Command> = case.steps.iter().filter_map(|s| match s {
            Step::Command(c) => Some(*c),
            Step::Update(..) => None,
        }).collect();
        let mut whole = Device::new(&case.config, case.seed).unwrap();
        let mut single =
            Device::with_observer(&case.config, case.seed, Events::default()).unwrap();
        let mut attributed =
            Device::with_observer(&case.config, case.seed, Events::default()).unwrap();
        whole.apply(&commands);
        attributed.apply(&commands);
        for command in &commands {
            single.apply(&[*command]);
        }
        prop_assert_eq!(whole.counters(), single.counters());
        prop_assert_eq!(&whole.handles, &single.handles);
        prop_assert_eq!(whole.check_invariants(), Ok(()));
        prop_assert_eq!(single.check_invariants(), Ok(()));
        prop_assert_eq!(single.attribution(), attributed.attribution());
    }
}

/// Takes the fullest candidate: never of use.
struct Fullest;

impl policy::VictimPolicy for Fullest {
    fn select(&mut self, rus: &mut policy::RuView<'_>) -> Option<RuId> {
        rus.candidates().max_by_key(|(_, valid)| *valid).map(|(ru, _)| ru)
    }
}

/// Where host and GC share a log, each collection of a full reclaim unit fills the one that was opened
/// for the host.
#[test]
fn a_policy_that_prefers_full_victims_does_not_stop_the_host() {
    let config: DeviceConfig = serde_json::from_value(serde_json::json!({
        "capacity": 143 << 16, "page": "64KiB", "reclaim_unit": { "size": "1MiB", "count": 11 },
        "handles": 1, "fdp": false, "gc": { "separate": false },
    }))
    .unwrap();
    let geometry = || Geometry::resolve(&config).unwrap();
    let mut oracle = PageMapped::with_geometry(geometry(), Box::new(Fullest), 0);
    let mut device = Device::with_geometry(geometry(), Box::new(Fullest), 0, ()).unwrap();
    for page in (0..143).chain((0..2000).map(|i| i * 37 % 143)) {
        let command = Command::write(page * 128, 128, Placement::NONE);
        oracle.apply(&[command]);
        device.apply(&[command]);
    }
    assert_eq!(device.counters(), oracle.counters());
    assert_eq!(device.check_invariants(), Ok(()));
}
