//! Directive Receive (Base 2.1, 8.1.8): Identify reports the directives, Streams the streams in use. Data placement is
//! enabled exactly while FDP is.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    DirectiveCdw11, DirectiveParameters, DirectiveType, Sqe, StreamParameters, StreamsRequested,
};

use super::directive_send::{DOPER, DTYPE, one};
use super::{AdminCommand, Controller, Failure, Reply};
use crate::MAX_TRANSFER;
use crate::nsid::Nsid;

/// An operation with its namespace and the number of bytes to return.
pub(super) struct DirectiveReceive {
    nsid: Nsid,
    operation: Operation,
    length: usize,
}

enum Operation {
    Directives,
    StreamParameters,
    StreamStatus,
    AllocateStreams(u16),
}

/// NVM Subsystem Stream Capability: a stream identifier belongs to one host, which needs a Host Identifier.
const CAPABILITY: u8 = 1 << 1;

impl AdminCommand<'_> for DirectiveReceive {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let nsid = Nsid::one_or_all(sqe)?;
        let cdw11 = DirectiveCdw11::of(sqe);
        let operation = match (DirectiveType(cdw11.dtype()), cdw11.doper()) {
            (DirectiveType::IDENTIFY, 1) => Operation::Directives,
            (DirectiveType::STREAMS, 1) => Operation::StreamParameters,
            (DirectiveType::STREAMS, 2) => Operation::StreamStatus,
            (DirectiveType::STREAMS, 3) => {
                Operation::AllocateStreams(StreamsRequested::of(sqe).nsr())
            }
            (DirectiveType::IDENTIFY | DirectiveType::STREAMS, _) => {
                return Err(DOPER.location().into());
            }
            _ => return Err(DTYPE.location().into()),
        };
        // Number of Dwords, zero-based.
        let length = (u64::from(sqe.cdw10.get()) + 1) * 4;
        Ok(DirectiveReceive { nsid, operation, length: length.min(MAX_TRANSFER) as usize })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        controller.check_active(self.nsid)?;
        let (drive, host) = (&controller.subsystem.drive, controller.hostid);
        let mut data = match self.operation {
            Operation::Directives => directives(controller, one(self.nsid)?).as_bytes().to_vec(),
            _ => {
                controller.check_streams(self.nsid)?;
                match self.operation {
                    Operation::AllocateStreams(count) => {
                        let allocated = drive.allocate_streams(host, one(self.nsid)?, count)?;
                        return Ok(Reply::dw0(allocated.into()));
                    }
                    Operation::StreamStatus => {
                        let open = drive.open_streams(host, self.nsid.one());
                        let count = open.len() as u16;
                        std::iter::once(count).chain(open).flat_map(u16::to_le_bytes).collect()
                    }
                    _ => stream_parameters(controller, self.nsid)?.as_bytes().to_vec(),
                }
            }
        };
        // Never more than the structure holds.
        data.truncate(self.length);
        Ok(Reply::data(data))
    }
}

fn directives(controller: &Controller, nsid: u32) -> DirectiveParameters {
    let drive = &controller.subsystem.drive;
    let bit = |dtype: DirectiveType, set: bool| u8::from(set) << dtype.0;
    let identify = bit(DirectiveType::IDENTIFY, true);
    // Supported even while FDP is disabled.
    let supported = bit(DirectiveType::DATA_PLACEMENT, true);
    let placement = bit(DirectiveType::DATA_PLACEMENT, drive.fdp_enabled());
    let enabled = drive.streams_enabled(controller.hostid, Some(nsid));
    let mut parameters = DirectiveParameters::default();
    parameters.supported[0] =
        identify | supported | bit(DirectiveType::STREAMS, drive.supports_streams());
    parameters.enabled[0] = identify | placement | bit(DirectiveType::STREAMS, enabled);
    parameters.persistent[0] = placement;
    parameters
}

fn stream_parameters(controller: &Controller, nsid: Nsid) -> Result<StreamParameters, Failure> {
    let drive = &controller.subsystem.drive;
    let counts = drive.stream_counts(controller.hostid, nsid.one());
    let mut parameters = StreamParameters {
        msl: counts.limit.into(),
        nssa: counts.available.into(),
        nsso: counts.open.into(),
        nssc: CAPABILITY,
        nsa: counts.allocated.into(),
        nso: counts.own.into(),
        ..Default::default()
    };
    if let Some(nsid) = nsid.one()
        && let Some(namespace) = controller.active(nsid)?
    {
        // Whole pages: the smallest power of two for which the count in a reclaim unit fits in 16 bits.
        let geometry = drive.geometry();
        let pages = (geometry.pages_per_ru >> 16) + 1;
        let write = u64::from(pages.next_power_of_two()) * geometry.page_bytes;
        let unit = u64::from(geometry.pages_per_ru) * geometry.page_bytes;
        parameters.sws = ((write >> namespace.lba_shift) as u32).into();
        parameters.sgs = ((unit / write) as u16).into();
    }
    Ok(parameters)
}
