//! The common parts of I/O commands: a range of logical blocks and a directive.

use std::sync::Arc;

use wafer_drive::Namespace;
use wafer_nvme::{DirectiveType, Location, RwCdw12, RwCdw13, Sqe};

use super::{Failure, IoQueue, MAX_TRANSFER};

/// Directive Type, in the same place in Copy.
pub(super) const DTYPE: Location = RwCdw12::new().with_dtype(1).location();
/// Directive Specific, in the same place in Copy.
pub(super) const DSPEC: Location = RwCdw13::new().with_dspec(1).location();

/// A range of logical blocks: SLBA and NLB.
///
/// PRINFO and STC are ignored: no namespace is formatted with protection information (NVM Command Set 1.1,
/// 5.2.1 and 5.3). fio 3.41 and later set PRACT.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) nsid: u32,
    pub(super) lba: u64,
    pub(super) blocks: u64,
}

/// The bytes of a range in its namespace.
pub(super) struct Extent {
    pub(super) namespace: Arc<Namespace>,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl Range {
    pub(super) fn parse(sqe: &Sqe) -> Self {
        let blocks = u64::from(RwCdw12::of(sqe).nlb_z()) + 1;
        Range { nsid: sqe.nsid.get(), lba: sqe.cdw10_11(), blocks }
    }

    /// Returns the bytes of the range.
    ///
    /// # Errors
    /// The host does not see the namespace, or the range is not within it.
    pub(super) fn resolve(self, queue: &mut IoQueue) -> Result<Extent, Failure> {
        let namespace = queue.namespace(self.nsid)?;
        let (offset, length) = bytes(&namespace, self.lba, self.blocks)?;
        Ok(Extent { namespace, offset, length })
    }

    /// Returns the bytes of a command that transfers them, at most MDTS.
    pub(super) fn resolve_transfer(self, queue: &mut IoQueue) -> Result<Extent, Failure> {
        let extent = self.resolve(queue)?;
        check_transfer(extent.length, RwCdw12::new().with_nlb_z(1).location())?;
        queue.spend(extent.length);
        Ok(extent)
    }
}

/// Returns offset and length in bytes; a failure names the first block.
pub(super) fn bytes(namespace: &Namespace, lba: u64, blocks: u64) -> Result<(u64, u64), Failure> {
    namespace.range(lba, blocks).map_err(|status| Failure { lba, ..status.into() })
}

pub(super) fn check_transfer(length: u64, field: Location) -> Result<(), Failure> {
    if length <= MAX_TRANSFER { Ok(()) } else { Err(field.into()) }
}

/// The placement a write requests. The namespace decides whether it is valid.
#[derive(Clone, Copy)]
pub(super) struct Directive {
    /// Zero means no directive.
    pub(super) dtype: DirectiveType,
    pub(super) dspec: u16,
}

impl Directive {
    /// Reads DTYPE and DSPEC.
    pub(super) fn of(sqe: &Sqe) -> Self {
        let dtype = DirectiveType(RwCdw12::of(sqe).dtype());
        Directive { dtype, dspec: RwCdw13::of(sqe).dspec() }
    }
}
