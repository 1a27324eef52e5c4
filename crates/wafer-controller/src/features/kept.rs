//! Features that hosts may set without effect. Their values are kept until a reset.

use wafer_nvme::{Fid, PowerManagement};

use super::{Controller, Failure, Feature, Get, Reply, Set};

pub(super) const ARBITRATION: Feature = kept::<{ Fid::ARBITRATION.0 }, 0>();
/// Only power state 0 exists.
pub(super) const POWER_MANAGEMENT: Feature =
    Feature { set: set_power, ..kept::<{ Fid::POWER_MANAGEMENT.0 }, 0>() };
pub(super) const WRITE_ATOMICITY: Feature = kept::<{ Fid::WRITE_ATOMICITY.0 }, 0>();

const fn kept<const FID: u8, const INITIAL: u32>() -> Feature {
    Feature { fid: Fid(FID), get: get::<FID, INITIAL>, set: set::<FID> }
}

fn get<const FID: u8, const INITIAL: u32>(
    controller: &Controller,
    get: &Get<'_>,
) -> Result<Reply, Failure> {
    let kept = controller.state().kept_features.get(&FID).copied();
    Ok(Reply::dw0(kept.filter(|_| !get.default).unwrap_or(INITIAL)))
}

fn set<const FID: u8>(controller: &Controller, set: &Set<'_>) -> Result<Reply, Failure> {
    controller.state().kept_features.insert(FID, set.value());
    Ok(Reply::default())
}

fn set_power(controller: &Controller, power: &Set<'_>) -> Result<Reply, Failure> {
    if PowerManagement::of(power.sqe).ps() != 0 {
        return Err(PowerManagement::new().with_ps(1).location().into());
    }
    set::<{ Fid::POWER_MANAGEMENT.0 }>(controller, power)
}
