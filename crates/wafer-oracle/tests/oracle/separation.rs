//! Separation by lifespan, over enough collections to learn.

use proptest::prelude::*;
use wafer_device::Separation;

use crate::agreement::agree;
use crate::configs::{Case, device, placed};
use crate::traffic::mixed;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn lifespans_are_learned(
        rule in prop::sample::select(vec![Separation::Sepbit, Separation::Midas, Separation::MultiLog, Separation::Dac]),
        config in device(12..40, prop_oneof![8 => Just(16), 1 => 128..200u64]),
        volume in 2..9u64, seed in any::<u64>(),
    ) {
        let config = placed(&config, None, Some(rule));
        let steps = mixed(&config, volume, (8, 1), seed);
        agree(&Case { config, steps, batch: 7, seed })?;
    }
}
