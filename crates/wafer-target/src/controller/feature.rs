//! Get Features and Set Features.

use wafer_spec::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_spec::*;

use super::identify::BROADCAST;
use super::{Controller, Failure, Kind, MAX_IO_QUEUES, Reply};
use crate::drive::ENDURANCE_GROUP;

/// Longest keep alive timeout, ms: an hour.
const MAX_KATO: u32 = 3_600_000;

/// Features that hosts may set and that change nothing here: the value is kept until a reset.
const PLAIN: [(Fid, u32); 5] = [
    (Fid::ARBITRATION, 0),
    (Fid::POWER_MANAGEMENT, 0),
    // Over temperature at 343 K, the warning threshold.
    (Fid::TEMPERATURE_THRESHOLD, 343),
    (Fid::ERROR_RECOVERY, 0),
    (Fid::WRITE_ATOMICITY, 0),
];

impl Controller {
    pub(crate) fn get_features(&self, sqe: &Sqe) -> Result<Reply, Failure> {
        let cdw10 = GetFeaturesCdw10::from(sqe.cdw10.get());
        let fid = Fid(cdw10.fid());
        if self.kind == Kind::Discovery && !matches!(fid, Fid::KEEP_ALIVE_TIMER | Fid::ASYNC_EVENT)
        {
            return Err(Failure::field(40));
        }
        if cdw10.sel() == 3 {
            return capabilities(fid).map(|c| Reply::dw0(c.into_bits()));
        }
        // Nothing is saved over a reset, so saved values are the defaults.
        let default = match cdw10.sel() {
            0 => false,
            1 | 2 => true,
            _ => return Err(Failure::field(41)),
        };
        if let Some((_, initial)) = PLAIN.iter().find(|(f, _)| *f == fid) {
            let kept = self.state().plain_features.get(&fid.0).copied();
            return Ok(Reply::dw0(if default { *initial } else { kept.unwrap_or(*initial) }));
        }
        let drive = &self.subsystem.drive;
        Ok(match fid {
            Fid::VOLATILE_WRITE_CACHE => Reply::dw0(u32::from(default || self.state().write_cache)),
            Fid::NUMBER_OF_QUEUES => Reply::dw0(queues()),
            Fid::ASYNC_EVENT if default => Reply::dw0(0),
            Fid::ASYNC_EVENT => Reply::dw0(self.state().async_config.into_bits()),
            Fid::KEEP_ALIVE_TIMER => Reply::dw0(if default { 0 } else { self.kato() }),
            Fid::TIMESTAMP => {
                let (milliseconds, attributes) = drive.timestamp();
                Reply::data(Timestamp::new(milliseconds, attributes).as_bytes())
            }
            Fid::HOST_BEHAVIOR if default => Reply::data(HostBehavior::default().as_bytes()),
            Fid::HOST_BEHAVIOR => Reply::data(self.state().host_behavior.as_bytes()),
            Fid::HOST_IDENTIFIER => {
                // EXHID: fabrics know the 128-bit identifier only.
                if sqe.cdw11.get() & 1 == 0 {
                    return Err(Failure::field(44));
                }
                Reply::data(self.hostid)
            }
            Fid::FDP => {
                check_group(sqe.cdw11.get())?;
                let enabled = if default { drive.options.device.fdp } else { drive.fdp_enabled() };
                Reply::dw0(FdpFeature::new().with_fdpe(enabled).into_bits())
            }
            Fid::FDP_EVENTS => return self.get_fdp_events(sqe),
            _ => return Err(Failure::field(40)),
        })
    }

    pub(crate) fn set_features(&self, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
        let cdw10 = SetFeaturesCdw10::from(sqe.cdw10.get());
        let fid = Fid(cdw10.fid());
        let value = sqe.cdw11.get();
        if self.kind == Kind::Discovery && !matches!(fid, Fid::KEEP_ALIVE_TIMER | Fid::ASYNC_EVENT)
        {
            return Err(Failure::field(40));
        }
        let capabilities = capabilities(fid)?;
        // Enabling FDP is kept with the drive, saved or not; nothing else can be saved.
        if cdw10.sv() && !capabilities.saveable() {
            return Err(Status::FEATURE_NOT_SAVEABLE.into());
        }
        if !capabilities.changeable() {
            return Err(Status::FEATURE_NOT_CHANGEABLE.into());
        }
        let nsid = sqe.nsid.get();
        if capabilities.namespace_specific() {
            if nsid != BROADCAST {
                self.active(nsid)?.ok_or(Status::INVALID_FIELD)?;
            }
        } else if nsid != 0 && nsid != BROADCAST {
            return Err(Status::FEATURE_NOT_NAMESPACE_SPECIFIC.into());
        }
        if PLAIN.iter().any(|(f, _)| *f == fid) {
            if fid == Fid::POWER_MANAGEMENT && value & 0x1f != 0 {
                // There is one power state.
                return Err(Failure::field(44));
            }
            self.state().plain_features.insert(fid.0, value);
            return Ok(Reply::default());
        }
        let drive = &self.subsystem.drive;
        match fid {
            Fid::VOLATILE_WRITE_CACHE => self.state().write_cache = value & 1 == 1,
            Fid::NUMBER_OF_QUEUES => {
                if value as u16 == 0xffff || value >> 16 == 0xffff {
                    return Err(Failure::field(44));
                }
                return Ok(Reply::dw0(queues()));
            }
            Fid::ASYNC_EVENT => {
                self.state().async_config = AsyncEventConfig::from(value);
                self.wake.notify_one();
            }
            Fid::KEEP_ALIVE_TIMER => {
                if value > MAX_KATO {
                    return Err(Status::KEEP_ALIVE_INVALID.into());
                }
                self.set_kato(value);
            }
            Fid::TIMESTAMP => {
                let timestamp =
                    Timestamp::read_from_prefix(data).map_err(|_| Status::INVALID_SGL_LENGTH)?.0;
                drive.set_timestamp(timestamp.get());
            }
            Fid::HOST_BEHAVIOR => {
                let behavior =
                    HostBehavior::read_from_prefix(data).map_err(|_| Status::INVALID_SGL_LENGTH)?.0;
                self.state().host_behavior = behavior;
            }
            Fid::FDP => {
                check_group(value)?;
                let wanted = FdpFeature::from(sqe.cdw12.get());
                if wanted.fdpe() && wanted.fdpcidx() != 0 {
                    return Err(Failure::field(49));
                }
                drive.set_fdp(wanted.fdpe())?;
            }
            Fid::FDP_EVENTS => return self.set_fdp_events(sqe, data),
            _ => return Err(Failure::field(40)),
        }
        Ok(Reply::default())
    }
}

/// As many queues of both kinds as there are, zero-based, whatever a host asks for.
fn queues() -> u32 {
    let most_z = u32::from(MAX_IO_QUEUES - 1);
    most_z | most_z << 16
}

fn check_group(cdw11: u32) -> Result<(), Failure> {
    if cdw11 as u16 == ENDURANCE_GROUP { Ok(()) } else { Err(Failure::field(44)) }
}

/// What hosts can do with a feature.
pub(crate) fn capabilities(fid: Fid) -> Result<FeatureCapabilities, Failure> {
    let changeable = FeatureCapabilities::new().with_changeable(true);
    Ok(match fid {
        Fid::ARBITRATION
        | Fid::POWER_MANAGEMENT
        | Fid::TEMPERATURE_THRESHOLD
        | Fid::VOLATILE_WRITE_CACHE
        | Fid::NUMBER_OF_QUEUES
        | Fid::WRITE_ATOMICITY
        | Fid::ASYNC_EVENT
        | Fid::TIMESTAMP
        | Fid::KEEP_ALIVE_TIMER
        | Fid::HOST_BEHAVIOR => changeable,
        Fid::FDP => changeable.with_saveable(true),
        Fid::ERROR_RECOVERY | Fid::FDP_EVENTS => changeable.with_namespace_specific(true),
        Fid::HOST_IDENTIFIER => FeatureCapabilities::new(),
        _ => return Err(Failure::field(40)),
    })
}
