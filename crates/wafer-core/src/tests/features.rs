//! What policies see: equal on the fast device and on the page-mapped one, and what it says it is.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::configs::{Step, Tiny, tiny};
use crate::oracle::PageMapped;
use crate::policy::{Features, OWNER_GC, RuView, VictimPolicy};
use crate::*;

/// Greedy that writes down everything it sees.
struct Scribe {
    seen: Arc<Mutex<Vec<Features>>>,
}

impl VictimPolicy for Scribe {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        let mut features = Features::default();
        rus.features(&mut features);
        let row = |i: usize| features.origins[i * features.handles..][..features.handles].to_vec();
        for i in 0..features.len() {
            let ru = RuId(features.ru[i]);
            assert_eq!(Some(features.valid[i]), rus.valid(ru));
            assert!(features.since_invalidation[i] <= features.age[i]);
            let sum: f32 = row(i).iter().sum();
            assert!((sum - 1.0).abs() < 1e-3, "shares {:?}", row(i));
            if features.owner[i] != OWNER_GC {
                assert_eq!(row(i)[usize::from(features.owner[i])], 1.0);
            }
        }
        self.seen.lock().unwrap().push(features);
        rus.least_valid()
    }
}

fn same_sights(case: &Tiny) -> Result<(), TestCaseError> {
    let mut geometry = Geometry::resolve(&case.config).unwrap();
    geometry.segment_pages = 1;
    let (fast, slow) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let mut device = Device::with_geometry(
        geometry.clone(),
        Box::new(Scribe { seen: fast.clone() }),
        case.seed,
        (),
    )
    .unwrap();
    let scribe = Box::new(Scribe { seen: slow.clone() });
    let mut oracle = PageMapped::with_geometry(geometry, scribe, case.seed);
    for step in &case.steps {
        match step {
            Step::Command(command) => {
                oracle.apply(&[*command]);
                device.apply(&[*command]);
            }
            Step::Update(namespace, placement) => {
                oracle.update_reclaim_unit(*namespace, *placement);
                device.update_reclaim_unit(*namespace, *placement);
            }
        }
    }
    prop_assert_eq!(&*fast.lock().unwrap(), &*slow.lock().unwrap());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn policies_see_the_same_on_both_devices(case in tiny(Just(16u64), 200)) {
        same_sights(&case)?;
    }
}
