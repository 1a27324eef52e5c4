//! I/O commands as submission queue entries.

use wafer_nvme::*;

/// Creates submission queue entries for a namespace.
#[derive(Clone, Copy, Debug)]
pub struct Io {
    /// NSID.
    pub nsid: u32,
}

impl Io {
    fn command(self, opcode: NvmOpcode) -> Sqe {
        Sqe { opcode: opcode.0, nsid: self.nsid.into(), ..Default::default() }
    }

    fn range(self, opcode: NvmOpcode, lba: u64, blocks: u32) -> Sqe {
        Sqe {
            cdw10: (lba as u32).into(),
            cdw11: ((lba >> 32) as u32).into(),
            cdw12: RwCdw12::new().with_nlb_z((blocks - 1) as u16).into_bits().into(),
            ..self.command(opcode)
        }
    }

    /// Creates a Read.
    pub fn read(self, lba: u64, blocks: u32) -> Sqe {
        self.range(NvmOpcode::READ, lba, blocks)
    }

    /// Creates a Write, with or without a placement identifier.
    pub fn write(self, lba: u64, blocks: u32, pid: Option<u16>) -> Sqe {
        place(self.range(NvmOpcode::WRITE, lba, blocks), pid)
    }

    /// Creates a Compare.
    pub fn compare(self, lba: u64, blocks: u32) -> Sqe {
        self.range(NvmOpcode::COMPARE, lba, blocks)
    }

    /// Creates a Verify.
    pub fn verify(self, lba: u64, blocks: u32) -> Sqe {
        self.range(NvmOpcode::VERIFY, lba, blocks)
    }

    /// Creates a Write Zeroes.
    pub fn write_zeroes(self, lba: u64, blocks: u32, deallocate: bool) -> Sqe {
        let mut sqe = self.range(NvmOpcode::WRITE_ZEROES, lba, blocks);
        let cdw12 = RwCdw12::from(sqe.cdw12.get()).with_deac(deallocate);
        sqe.cdw12 = cdw12.into_bits().into();
        sqe
    }

    /// Creates a Flush.
    pub fn flush(self) -> Sqe {
        self.command(NvmOpcode::FLUSH)
    }

    /// Creates a Dataset Management that deallocates; its data is [`DsmRange`]s.
    pub fn deallocate(self, ranges: usize) -> Sqe {
        Sqe {
            cdw10: DsmCdw10::new().with_nr_z((ranges - 1) as u8).into_bits().into(),
            cdw11: DsmCdw11::new().with_ad(true).into_bits().into(),
            ..self.command(NvmOpcode::DATASET_MANAGEMENT)
        }
    }

    /// Creates a Copy to `lba`; its data is [`CopyRange`]s.
    pub fn copy(self, lba: u64, ranges: usize, pid: Option<u16>) -> Sqe {
        let sqe = Sqe {
            cdw12: CopyCdw12::new().with_nr_z((ranges - 1) as u8).into_bits().into(),
            ..self.range(NvmOpcode::COPY, lba, 1)
        };
        place(sqe, pid)
    }

    /// Creates an I/O Management Receive: Reclaim Unit Handle Status of this many bytes.
    pub fn handle_status(self, bytes: u32) -> Sqe {
        Sqe {
            cdw10: IoManagementCdw10::new().with_mo(1).into_bits().into(),
            cdw11: (bytes / 4 - 1).into(),
            ..self.command(NvmOpcode::IO_MANAGEMENT_RECEIVE)
        }
    }

    /// Creates an I/O Management Send: Reclaim Unit Handle Update; its data is placement identifiers.
    pub fn handle_update(self, count: usize) -> Sqe {
        let cdw10 = IoManagementCdw10::new().with_mo(1).with_mos((count - 1) as u16);
        Sqe { cdw10: cdw10.into_bits().into(), ..self.command(NvmOpcode::IO_MANAGEMENT_SEND) }
    }
}

/// Adds a data placement directive, which Write, Write Zeroes and Copy have in the same place.
fn place(mut sqe: Sqe, pid: Option<u16>) -> Sqe {
    if let Some(pid) = pid {
        let cdw12 = RwCdw12::from(sqe.cdw12.get()).with_dtype(DirectiveType::DATA_PLACEMENT.0);
        sqe.cdw12 = cdw12.into_bits().into();
        sqe.cdw13 = RwCdw13::new().with_dspec(pid).into_bits().into();
    }
    sqe
}

/// Returns the source ranges of a copy of `blocks` blocks starting at `lba`, each of at most `longest` blocks (MSSRL of
/// Identify Namespace).
pub fn copy_ranges(lba: u64, blocks: u32, longest: u16) -> Vec<CopyRange> {
    let range = |from: u32| CopyRange {
        slba: (lba + u64::from(from)).into(),
        nlb_z: ((blocks - from).min(longest.into()) as u16 - 1).into(),
        ..CopyRange::default()
    };
    (0..blocks).step_by(longest.into()).map(range).collect()
}
