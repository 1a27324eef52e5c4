//! Reservation Register, Acquire, Release and Report.

use wafer_drive::{Registrant, ReservationAction};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::{
    RegisterCdw10, RegisteredController, ReportCdw11, ReservationCdw10, ReservationKeys,
    ReservationStatus, ReservationType, Sqe, Status, U64, location,
};

use super::{Failure, IoCommand, IoQueue, Step, range};

/// Controller ID of a registered controller in the dynamic controller model.
const DYNAMIC: u16 = 0xffff;

/// Performs an action on behalf of the host of a queue.
fn act(
    queue: &mut IoQueue,
    nsid: u32,
    action: ReservationAction,
    ptpl: Option<bool>,
) -> Result<Step, Failure> {
    queue.controller.check_host_id()?;
    let namespace = queue.namespace(nsid)?;
    let host = queue.controller.hostid;
    let notices = queue.drive.reserve(&namespace, &host, Some(action), ptpl)?;
    queue.controller.subsystem.notify_reservations(&namespace, &notices);
    Ok(Step::Done)
}

fn keys(data: &[u8]) -> Result<ReservationKeys, Failure> {
    let read = ReservationKeys::read_from_prefix(data);
    Ok(read.map_err(|_| Status::INVALID_SGL_LENGTH)?.0)
}

pub(super) struct Register {
    nsid: u32,
    cdw10: RegisterCdw10,
    ptpl: Option<bool>,
}

impl IoCommand for Register {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        let cdw10 = RegisterCdw10::of(sqe);
        if cdw10.rrega() > 2 {
            return Err(RegisterCdw10::new().with_rrega(1).location().into());
        }
        let ptpl = match cdw10.cptpl() {
            0 => None,
            2 => Some(false),
            3 => Some(true),
            _ => return Err(RegisterCdw10::new().with_cptpl(1).location().into()),
        };
        Ok(Register { nsid: sqe.nsid.get(), cdw10, ptpl })
    }

    fn execute(self, queue: &mut IoQueue, data: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        let keys = keys(data)?;
        let current = (!self.cdw10.iekey()).then(|| keys.current.get());
        let action = match self.cdw10.rrega() {
            0 => ReservationAction::Register(keys.other.get()),
            1 => ReservationAction::Unregister(current),
            _ => ReservationAction::Replace(current, keys.other.get()),
        };
        act(queue, self.nsid, action, self.ptpl)
    }
}

/// Acquire and Release have the same fields.
struct Fields {
    nsid: u32,
    action: u8,
    rtype: ReservationType,
}

impl Fields {
    fn parse(sqe: &Sqe, last: u8, has_type: impl Fn(u8) -> bool) -> Result<Self, Failure> {
        let cdw10 = ReservationCdw10::of(sqe);
        let rtype = ReservationType(cdw10.rtype());
        if cdw10.action() > last {
            return Err(ReservationCdw10::new().with_action(1).location().into());
        }
        if cdw10.iekey() {
            return Err(ReservationCdw10::new().with_iekey(true).location().into());
        }
        if has_type(cdw10.action()) && !rtype.is_valid() {
            return Err(ReservationCdw10::new().with_rtype(1).location().into());
        }
        Ok(Fields { nsid: sqe.nsid.get(), action: cdw10.action(), rtype })
    }
}

pub(super) struct Acquire(Fields);

impl IoCommand for Acquire {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        Ok(Acquire(Fields::parse(sqe, 2, |_| true)?))
    }

    fn execute(self, queue: &mut IoQueue, data: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        let Acquire(Fields { nsid, action, rtype }) = self;
        let keys = keys(data)?;
        let (current, other) = (keys.current.get(), keys.other.get());
        // Commands of a preempted host end by themselves, because each slice checks the reservation again.
        let action = match action {
            0 => ReservationAction::Acquire(current, rtype),
            _ => ReservationAction::Preempt(current, other, rtype),
        };
        act(queue, nsid, action, None)
    }
}

pub(super) struct Release(Fields);

impl IoCommand for Release {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        Ok(Release(Fields::parse(sqe, 1, |action| action == 0)?))
    }

    fn execute(self, queue: &mut IoQueue, data: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        let Release(Fields { nsid, action, rtype }) = self;
        let (key, _) = U64::read_from_prefix(data).map_err(|_| Status::INVALID_SGL_LENGTH)?;
        let action = match action {
            0 => ReservationAction::Release(key.get(), rtype),
            _ => ReservationAction::Clear(key.get()),
        };
        act(queue, nsid, action, None)
    }
}

pub(super) struct Report {
    nsid: u32,
    /// Bytes.
    length: u64,
}

impl IoCommand for Report {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        let length = (u64::from(sqe.cdw10.get()) + 1) * 4;
        range::check_transfer(length, location!(cdw10))?;
        // Fabrics hosts have 128-bit identifiers.
        if !ReportCdw11::of(sqe).eds() {
            return Err(Status::HOST_ID_INCONSISTENT.into());
        }
        Ok(Report { nsid: sqe.nsid.get(), length })
    }

    fn execute(self, queue: &mut IoQueue, _: &[u8], out: &mut Vec<u8>) -> Result<Step, Failure> {
        let now = queue.namespace(self.nsid)?.reservations();
        let head = ReservationStatus {
            generation: now.generation.into(),
            rtype: now.rtype().map_or(0, |rtype| rtype.0),
            regctl: (now.registrants.len() as u16).into(),
            ptpls: now.ptpl.into(),
            ..Default::default()
        };
        let mut data = head.as_bytes().to_vec();
        for Registrant { host, key } in &now.registrants {
            let entry = RegisteredController {
                cntlid: DYNAMIC.into(),
                rcsts: now.is_holder(host).into(),
                rkey: (*key).into(),
                hostid: *host,
                ..Default::default()
            };
            data.extend_from_slice(entry.as_bytes());
        }
        data.resize(self.length as usize, 0);
        out.extend_from_slice(&data);
        Ok(Step::Done)
    }
}
