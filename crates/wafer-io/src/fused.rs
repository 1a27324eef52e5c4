//! Compare and Write, fused: no other command changes the blocks in between (NVM 1.1, 2.1.1).

use wafer_interface::{Op, Placement};
use wafer_nvme::{NvmOpcode, RwCdw12, Sqe, Status, location};
use wafer_storage::ATOMIC_BLOCKS;

use super::range::{Directive, Extent, Range};
use super::{Failure, IoQueue, check_readable};

/// Why a fused operation failed: the failure of the Compare, if it did not succeed, and that of the Write.
type Failed = (Option<Failure>, Failure);

/// Fails the Compare, which aborts the Write.
fn compare(failure: impl Into<Failure>) -> Failed {
    (Some(failure.into()), Status::FAILED_FUSED.into())
}

/// Fails the Write, so that neither is executed.
fn write(failure: impl Into<Failure>) -> Failed {
    (Some(Status::FAILED_FUSED.into()), failure.into())
}

impl IoQueue {
    /// Executes a fused Compare and Write with the data of each, and returns the outcome of each.
    pub fn compare_and_write(
        &mut self,
        sqes: [&Sqe; 2],
        data: [&[u8]; 2],
    ) -> [Result<(), Failure>; 2] {
        match self.fused(sqes, data) {
            Ok(()) => [Ok(()), Ok(())],
            Err((first, second)) => [first.map_or(Ok(()), Err), Err(second)],
        }
    }

    fn fused(&mut self, sqes: [&Sqe; 2], [expected, data]: [&[u8]; 2]) -> Result<(), Failed> {
        self.controller.check_path(sqes[0].nsid.get()).map_err(compare)?;
        self.drive.check_sanitize().map_err(compare)?;
        let [range, second] = sqes.map(Range::parse);
        self.check_reserved(NvmOpcode::COMPARE, range.nsid).map_err(compare)?;
        self.check_reserved(NvmOpcode::WRITE, second.nsid).map_err(write)?;
        let lba = range.lba;
        if (range.nsid, lba, range.blocks) != (second.nsid, second.lba, second.blocks) {
            return Err((Some(location!(cdw10).into()), location!(cdw10).into()));
        }
        let Extent { namespace, offset, length } = range.resolve_transfer(self).map_err(compare)?;
        if range.blocks > u64::from(ATOMIC_BLOCKS) {
            return Err(compare(RwCdw12::new().with_nlb_z(1).location()));
        }
        let expected = expected.get(..length as usize).ok_or(Status::INVALID_SGL_LENGTH);
        let data = data.get(..length as usize).ok_or(Status::INVALID_SGL_LENGTH);
        let (expected, data) = (expected.map_err(compare)?, data.map_err(write)?);
        let directive = Directive::of(sqes[1]);
        let pid = self.placement(&namespace, directive).map_err(write)?;
        let fua = RwCdw12::of(sqes[1]).fua();
        let durable = self.check_write(&namespace, fua).map_err(write)?;
        self.check_allocated(&namespace, offset, length).map_err(compare)?;
        check_readable(&namespace, offset, length).map_err(compare)?;
        let equal = namespace.store.compare_and_write(offset, expected, data);
        let equal = equal.map_err(|e| write(Failure::medium(&e, Status::WRITE_FAULT, lba)))?;
        self.count(Op::Read, &namespace, offset, length, Placement::NONE);
        self.batch.transferred.reads += 1;
        if !equal {
            return Err(compare(Failure { lba, ..Status::COMPARE_FAILURE.into() }));
        }
        self.count(Op::Write, &namespace, offset, length, pid);
        self.batch.transferred.writes += 1;
        self.finish_write(durable).map(|_| ()).map_err(|failure| (None, failure))
    }
}
