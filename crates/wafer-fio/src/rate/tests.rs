use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_command_is_due_when_those_before_it_have_had_their_time(
        bytes in 0..1u64 << 60, rate in prop_oneof![1..1u64 << 20, 1..u64::MAX], second in 1..1u64 << 50, start in 0..9u64,
    ) {
        let rates = Rates {
            limits: [Some(Limit::Bytes(rate)), None, None],
            start,
            second,
            issued: [(bytes, 1), (0, 0), (0, 0)],
            process: None,
            chooses: false,
        };
        let time = u128::from(start) + u128::from(bytes) * u128::from(second) / u128::from(rate);
        prop_assert_eq!(rates.due(READ), u64::try_from(time).unwrap_or(u64::MAX));
    }
}
