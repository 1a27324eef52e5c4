//! Features of a controller or of its host.

use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::{
    AsyncEventConfig, Fid, HostBehavior, HostIdentifierCdw11, NumberOfQueues, Status, Timestamp,
};

use super::{Feature, Reply};
use crate::MAX_IO_QUEUES;

/// The host always gets the maximum number of queues, whatever it requests.
const QUEUES: NumberOfQueues =
    NumberOfQueues::new().with_nsq_z(MAX_IO_QUEUES - 1).with_ncq_z(MAX_IO_QUEUES - 1);

pub(super) const VOLATILE_WRITE_CACHE: Feature = Feature {
    fid: Fid::VOLATILE_WRITE_CACHE,
    get: |c, get| Ok(Reply::dw0(u32::from(get.default || c.state().write_cache))),
    set: |c, set| {
        c.state().write_cache = set.value() & 1 == 1;
        Ok(Reply::default())
    },
};

pub(super) const NUMBER_OF_QUEUES: Feature = Feature {
    fid: Fid::NUMBER_OF_QUEUES,
    get: |_, _| Ok(Reply::dw0(QUEUES.into_bits())),
    set: |_, set| {
        let asked = NumberOfQueues::of(set.sqe);
        for (count, field) in [
            (asked.nsq_z(), NumberOfQueues::new().with_nsq_z(1)),
            (asked.ncq_z(), NumberOfQueues::new().with_ncq_z(1)),
        ] {
            if count == u16::MAX {
                return Err(field.location().into());
            }
        }
        Ok(Reply::dw0(QUEUES.into_bits()))
    },
};

pub(super) const ASYNC_EVENT: Feature = Feature {
    fid: Fid::ASYNC_EVENT,
    get: |c, get| {
        let current = if get.default { 0 } else { c.state().async_config.into_bits() };
        Ok(Reply::dw0(current))
    },
    set: |c, set| {
        c.state().async_config = AsyncEventConfig::from(set.value());
        c.wake.notify_one();
        Ok(Reply::default())
    },
};

pub(super) const TIMESTAMP: Feature = Feature {
    fid: Fid::TIMESTAMP,
    get: |c, _| {
        let (milliseconds, attributes) = c.subsystem.drive.timestamp();
        Ok(Reply::data(Timestamp::new(milliseconds, attributes).as_bytes()))
    },
    set: |c, set| {
        let read = Timestamp::read_from_prefix(set.data);
        let (timestamp, _) = read.map_err(|_| Status::INVALID_SGL_LENGTH)?;
        c.subsystem.drive.set_timestamp(timestamp.get());
        Ok(Reply::default())
    },
};

pub(super) const KEEP_ALIVE_TIMER: Feature = Feature {
    fid: Fid::KEEP_ALIVE_TIMER,
    get: |c, get| Ok(Reply::dw0(if get.default { 0 } else { c.kato() })),
    set: |c, set| {
        c.set_kato(set.value());
        Ok(Reply::default())
    },
};

pub(super) const HOST_BEHAVIOR: Feature = Feature {
    fid: Fid::HOST_BEHAVIOR,
    get: |c, get| {
        let current = if get.default { HostBehavior::default() } else { c.state().host_behavior };
        Ok(Reply::data(current.as_bytes()))
    },
    set: |c, set| {
        let read = HostBehavior::read_from_prefix(set.data);
        let (mut behavior, _) = read.map_err(|_| Status::INVALID_SGL_LENGTH)?;
        if behavior.acre > 1 {
            return Err(Status::INVALID_FIELD.into());
        }
        // Bits of unsupported formats are ignored.
        behavior.cdfe = (behavior.cdfe.get() & HostBehavior::COPY_FORMATS).into();
        c.state().host_behavior = behavior;
        Ok(Reply::default())
    },
};

pub(super) const HOST_IDENTIFIER: Feature = Feature {
    fid: Fid::HOST_IDENTIFIER,
    get: |c, get| {
        // Fabrics hosts have 128-bit identifiers only.
        if !HostIdentifierCdw11::of(get.sqe).exhid() {
            return Err(HostIdentifierCdw11::new().with_exhid(true).location().into());
        }
        Ok(Reply::data(c.hostid))
    },
    set: |_, _| Err(Status::FEATURE_NOT_CHANGEABLE.into()),
};
