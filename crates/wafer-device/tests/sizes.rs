//! Impossible sizes of devices, and the sizes that messages suggest instead.

use serde_json::json;
use wafer_device::DeviceConfig;

const MIB: u64 = 1 << 20;

fn config(policy: &str, [handles, groups]: [u16; 2], capacity: u64, spare: f64) -> DeviceConfig {
    let config = json!({
        "capacity": capacity * MIB, "handles": handles, "groups": groups, "overprovisioning": spare,
        "reclaim_unit": { "size": MIB },
        "gc": { "policy": policy, "forced_free": 0.1 },
    });
    serde_json::from_value(config).unwrap()
}

/// This also holds for policies that keep more reclaim units open if more are spare.
#[test]
fn the_size_that_a_message_names_works() {
    let mut refused = 0;
    for policy in ["greedy", "adaptive", "gittins", "look-ahead", "midas"] {
        for logs in (1..=40).map(|handles| [handles, 1]).chain([[2, 4], [3, 8]]) {
            for capacity in [50, 100, 125, 128, 200, 511] {
                let small = config(policy, logs, capacity, 0.01);
                let Err(error) = small.resolve() else { continue };
                refused += 1;
                let named = error.message.rsplit(' ').next().unwrap();
                let works =
                    DeviceConfig { overprovisioning: Some(named.parse().unwrap()), ..small };
                assert!(
                    works.resolve().is_ok(),
                    "{policy}, {logs:?}, {capacity}: {}",
                    error.message
                );
            }
        }
    }
    assert!(refused > 500, "{refused}");
}

#[test]
fn no_more_than_the_most_over_provisioning_is_named() {
    let error = config("greedy", [2, 256], 64, 0.1).resolve().unwrap_err();
    assert!(error.message.ends_with("and 10 is the most"), "{}", error.message);
}
