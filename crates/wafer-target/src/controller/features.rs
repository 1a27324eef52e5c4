//! Get Features and Set Features.
//!
//! The scope of a feature, and whether it can be changed and saved, is in the table of `wafer_nvme`.

use wafer_drive::ENDURANCE_GROUP;
use wafer_interface::RuhId;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::{
    AsyncEventConfig, FdpEventDescriptor, FdpEventsCdw11, FdpEventsCdw12, FdpFeature,
    FeatureCapabilities, FeatureGroup, FeatureInfo, Fid, GetFeaturesCdw10, HostBehavior,
    HostIdentifierCdw11, NumberOfQueues, PowerManagement, Scope, SetFeaturesCdw10, Sqe, Status,
    Timestamp,
};

use super::limits::MAX_IO_QUEUES;
use super::reply::{Failure, Reply};
use super::subsystem::{BROADCAST, Controller, Kind};

/// Longest keep alive timeout, ms: an hour.
const MAX_KATO: u32 = 3_600_000;
/// Every host gets the maximum number of queues of both kinds.
const QUEUES: NumberOfQueues =
    NumberOfQueues::new().with_nsq_z(MAX_IO_QUEUES - 1).with_ncq_z(MAX_IO_QUEUES - 1);

/// Reads a feature: its default value if the flag is set, else its current value.
pub(super) type Get = fn(&Controller, &Sqe, bool) -> Result<Reply, Failure>;
/// Changes a feature. The slice is the data that the host sent.
pub(super) type Set = fn(&Controller, &Sqe, &[u8]) -> Result<Reply, Failure>;

/// The implementation of a feature.
pub(super) enum Feature {
    /// Has no effect. Keeps its value until a reset; this is the initial one.
    Kept(u32),
    /// Cannot be changed.
    Fixed(Get),
    Live(Get, Set),
}

/// Supported features.
pub(super) const FEATURES: &[(Fid, Feature)] = &[
    (Fid::ARBITRATION, Feature::Kept(0)),
    (Fid::POWER_MANAGEMENT, Feature::Kept(0)),
    // Over temperature at 343 K, the warning threshold.
    (Fid::TEMPERATURE_THRESHOLD, Feature::Kept(343)),
    (Fid::ERROR_RECOVERY, Feature::Kept(0)),
    (Fid::VOLATILE_WRITE_CACHE, Feature::Live(get_write_cache, set_write_cache)),
    (Fid::NUMBER_OF_QUEUES, Feature::Live(|_, _, _| queues(), set_queues)),
    (Fid::WRITE_ATOMICITY, Feature::Kept(0)),
    (Fid::ASYNC_EVENT, Feature::Live(get_async_event, set_async_event)),
    (Fid::TIMESTAMP, Feature::Live(get_timestamp, set_timestamp)),
    (Fid::KEEP_ALIVE_TIMER, Feature::Live(get_keep_alive, set_keep_alive)),
    (Fid::HOST_BEHAVIOR, Feature::Live(get_host_behavior, set_host_behavior)),
    (Fid::FDP, Feature::Live(get_fdp, set_fdp)),
    (Fid::FDP_EVENTS, Feature::Live(get_fdp_events, set_fdp_events)),
    (Fid::HOST_IDENTIFIER, Feature::Fixed(get_host_identifier)),
];

/// Returns a feature and its row.
///
/// # Errors
/// The controller does not support it.
fn find(
    controller: &Controller,
    fid: Fid,
) -> Result<(&'static Feature, &'static FeatureInfo), Failure> {
    let feature = FEATURES.iter().find(|(supported, _)| *supported == fid);
    (feature.map(|(_, feature)| feature).zip(fid.info()))
        .filter(|(_, row)| controller.kind == Kind::Io || row.discovery)
        .ok_or_else(|| GetFeaturesCdw10::new().with_fid(1).location().into())
}

pub(super) fn get_features(c: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    let cdw10 = GetFeaturesCdw10::of(sqe);
    if cdw10.sel() > 3 {
        return Err(GetFeaturesCdw10::new().with_sel(1).location().into());
    }
    let fid = Fid(cdw10.fid());
    let (feature, row) = find(c, fid)?;
    if cdw10.sel() == 3 {
        let capabilities = FeatureCapabilities::new()
            .with_saveable(row.saveable)
            .with_namespace_specific(row.scope == Scope::Namespace)
            .with_changeable(row.changeable);
        return Ok(Reply::dw0(capabilities.into_bits()));
    }
    // Nothing is saved over a reset, so saved values are the defaults.
    let default = cdw10.sel() != 0;
    match feature {
        Feature::Kept(initial) => {
            let kept = c.state().kept_features.get(&fid.0).copied();
            Ok(Reply::dw0(kept.filter(|_| !default).unwrap_or(*initial)))
        }
        Feature::Fixed(get) | Feature::Live(get, _) => get(c, sqe, default),
    }
}

pub(super) fn set_features(c: &Controller, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
    let cdw10 = SetFeaturesCdw10::of(sqe);
    let fid = Fid(cdw10.fid());
    let (feature, row) = find(c, fid)?;
    // The drive keeps whether FDP is enabled, saved or not. Nothing else can be saved.
    if cdw10.sv() && !row.saveable {
        return Err(Status::FEATURE_NOT_SAVEABLE.into());
    }
    if !row.changeable {
        return Err(Status::FEATURE_NOT_CHANGEABLE.into());
    }
    let nsid = sqe.nsid.get();
    if row.scope == Scope::Namespace {
        c.check_active(nsid)?;
    } else if nsid != 0 && nsid != BROADCAST {
        return Err(Status::FEATURE_NOT_NAMESPACE_SPECIFIC.into());
    }
    match feature {
        Feature::Kept(_) => {
            // There is one power state.
            if fid == Fid::POWER_MANAGEMENT && PowerManagement::of(sqe).ps() != 0 {
                return Err(PowerManagement::new().with_ps(1).location().into());
            }
            c.state().kept_features.insert(fid.0, sqe.cdw11.get());
            Ok(Reply::default())
        }
        Feature::Fixed(_) => Err(Status::FEATURE_NOT_CHANGEABLE.into()),
        Feature::Live(_, set) => set(c, sqe, data),
    }
}

fn get_write_cache(c: &Controller, _: &Sqe, default: bool) -> Result<Reply, Failure> {
    Ok(Reply::dw0(u32::from(default || !c.state().write_cache_disabled)))
}

fn set_write_cache(c: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    c.state().write_cache_disabled = sqe.cdw11.get() & 1 == 0;
    Ok(Reply::default())
}

fn queues() -> Result<Reply, Failure> {
    Ok(Reply::dw0(QUEUES.into_bits()))
}

fn set_queues(_: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    let asked = NumberOfQueues::of(sqe);
    if asked.nsq_z() == u16::MAX {
        return Err(NumberOfQueues::new().with_nsq_z(1).location().into());
    }
    if asked.ncq_z() == u16::MAX {
        return Err(NumberOfQueues::new().with_ncq_z(1).location().into());
    }
    queues()
}

fn get_async_event(c: &Controller, _: &Sqe, default: bool) -> Result<Reply, Failure> {
    Ok(Reply::dw0(if default { 0 } else { c.state().async_config.into_bits() }))
}

fn set_async_event(c: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    c.state().async_config = AsyncEventConfig::from(sqe.cdw11.get());
    c.wake.notify_one();
    Ok(Reply::default())
}

fn get_timestamp(c: &Controller, _: &Sqe, _: bool) -> Result<Reply, Failure> {
    let (milliseconds, attributes) = c.subsystem.drive.timestamp();
    Ok(Reply::data(Timestamp::new(milliseconds, attributes).as_bytes()))
}

fn set_timestamp(c: &Controller, _: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
    let read = Timestamp::read_from_prefix(data);
    let (timestamp, _) = read.map_err(|_| Status::INVALID_SGL_LENGTH)?;
    c.subsystem.drive.set_timestamp(timestamp.get());
    Ok(Reply::default())
}

fn get_keep_alive(c: &Controller, _: &Sqe, default: bool) -> Result<Reply, Failure> {
    Ok(Reply::dw0(if default { 0 } else { c.kato() }))
}

fn set_keep_alive(c: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    if sqe.cdw11.get() > MAX_KATO {
        return Err(Status::KEEP_ALIVE_INVALID.into());
    }
    c.set_kato(sqe.cdw11.get());
    Ok(Reply::default())
}

fn get_host_behavior(c: &Controller, _: &Sqe, default: bool) -> Result<Reply, Failure> {
    let value = if default { HostBehavior::default() } else { c.state().host_behavior };
    Ok(Reply::data(value.as_bytes()))
}

fn set_host_behavior(c: &Controller, _: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
    let read = HostBehavior::read_from_prefix(data);
    let (behavior, _) = read.map_err(|_| Status::INVALID_SGL_LENGTH)?;
    c.state().host_behavior = behavior;
    Ok(Reply::default())
}

fn get_host_identifier(c: &Controller, sqe: &Sqe, _: bool) -> Result<Reply, Failure> {
    // Fabrics have the 128-bit identifier only.
    if !HostIdentifierCdw11::of(sqe).exhid() {
        return Err(HostIdentifierCdw11::new().with_exhid(true).location().into());
    }
    Ok(Reply::data(c.hostid))
}

fn check_group(sqe: &Sqe) -> Result<(), Failure> {
    if FeatureGroup::of(sqe).endgid() == ENDURANCE_GROUP {
        Ok(())
    } else {
        Err(FeatureGroup::new().with_endgid(1).location().into())
    }
}

fn get_fdp(c: &Controller, sqe: &Sqe, default: bool) -> Result<Reply, Failure> {
    check_group(sqe)?;
    let drive = &c.subsystem.drive;
    let enabled = if default { drive.initial_config().fdp } else { drive.fdp_enabled() };
    Ok(Reply::dw0(FdpFeature::new().with_fdpe(enabled).into_bits()))
}

fn set_fdp(c: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    check_group(sqe)?;
    let wanted = FdpFeature::of(sqe);
    if wanted.fdpe() && wanted.fdpcidx() != 0 {
        return Err(FdpFeature::new().with_fdpcidx(1).location().into());
    }
    c.subsystem.drive.set_fdp(wanted.fdpe())?;
    Ok(Reply::default())
}

/// Returns the reclaim unit handle behind the placement handle of an FDP Events command.
fn handle(c: &Controller, sqe: &Sqe) -> Result<(RuhId, FdpEventsCdw11), Failure> {
    c.check_fdp()?;
    let cdw11 = FdpEventsCdw11::of(sqe);
    let namespace = c.active(sqe.nsid.get())?.ok_or(Status::INVALID_FIELD)?;
    let handle = namespace.handles.get(usize::from(cdw11.phndl()));
    Ok((*handle.ok_or(FdpEventsCdw11::new().with_phndl(1).location())?, cdw11))
}

fn get_fdp_events(c: &Controller, sqe: &Sqe, _: bool) -> Result<Reply, Failure> {
    let (handle, cdw11) = handle(c, sqe)?;
    let supported = c.subsystem.drive.supported_events(handle);
    let descriptors: Vec<FdpEventDescriptor> = supported
        .iter()
        .take(usize::from(cdw11.noet()))
        .map(|(event_type, on)| FdpEventDescriptor {
            event_type: *event_type,
            attributes: u8::from(*on),
        })
        .collect();
    let data = descriptors.as_bytes().to_vec();
    Ok(Reply { dw0: supported.len() as u32, data, ..Default::default() })
}

fn set_fdp_events(c: &Controller, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
    let (handle, cdw11) = handle(c, sqe)?;
    let types = data.get(..usize::from(cdw11.noet())).ok_or(Status::INVALID_SGL_LENGTH)?;
    if types.is_empty() {
        return Err(FdpEventsCdw11::new().with_noet(1).location().into());
    }
    c.subsystem.drive.enable_events(handle, types, FdpEventsCdw12::of(sqe).fdpee())?;
    Ok(Reply::default())
}
