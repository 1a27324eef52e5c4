//! The table of formats, and the detection of a file's format.
//!
//! To add a format, add a file with its decoder to this folder, its `mod` line here, and its entry
//! in [`FORMATS`].

mod alibaba;
mod blkparse;
pub(crate) mod blktrace;
mod cachelib;
mod disksim;
mod fio_iolog;
mod libcachesim;
mod msr;
mod oracle_general;
pub(crate) mod records;
mod scsi;
mod spc;
mod tencent;
mod vscsi;

use crate::decode::{Decoded, Decoder, LineRequests, Lines};

/// A format of traces.
#[derive(Clone, Copy)]
pub struct Format {
    /// Name for options and tables.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The word for a record in messages.
    pub(crate) record: &'static str,
    /// Returns a decoder; the beginning of the trace may decide details.
    pub(crate) decoder: fn(head: &[u8]) -> Box<dyn Decoder>,
    /// How the format is recognised.
    pub(crate) is: Is,
}

/// How a format is recognised.
#[derive(Clone, Copy)]
pub(crate) enum Is {
    /// By this test of the first bytes.
    Head(fn(&[u8]) -> bool),
    /// By the number of lines that can be parsed.
    Lines,
    /// Not by its bytes: the input recognises captures.
    Capture,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

fn lines<F: LineRequests + Default + 'static>(_: &[u8]) -> Box<dyn Decoder> {
    Box::new(Lines::new(F::default()))
}

/// All formats. Among line formats, earlier ones win ties.
pub const FORMATS: &[Format] = &[
    Format {
        name: "capture",
        summary: "wafer's own: what `wafer serve --record` and `wafer mount --record` write",
        record: "record",
        decoder: |_| Box::new(records::Records::default()),
        is: Is::Capture,
    },
    Format {
        name: "blktrace",
        summary: "blktrace's binary records: FILE.blktrace.0 with the files next to it, or joined by `blkparse -d`",
        record: "record",
        decoder: |head| Box::new(blktrace::BlkTrace::new(head)),
        is: Is::Head(blktrace::is_one),
    },
    Format {
        name: "fio",
        summary: "fio's iolog, versions 2 and 3 (`write_iolog`)",
        record: "line",
        decoder: |head| Box::new(Lines::new(fio_iolog::FioIolog::new(head))),
        is: Is::Head(|head| fio_iolog::version(head).is_some()),
    },
    Format {
        name: "vscsi",
        summary: "CloudPhysics vSCSI records, versions 1 and 2",
        record: "record",
        decoder: |head| Box::new(vscsi::Vscsi::new(head)),
        is: Is::Head(|head| vscsi::version(head).is_some()),
    },
    Format {
        name: "blkparse",
        summary: "text that `blkparse` prints by default",
        record: "line",
        decoder: |head| Box::new(Lines::new(blkparse::BlkParse::new(head))),
        is: Is::Lines,
    },
    Format {
        name: "msr",
        summary: "MSR Cambridge: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
        record: "line",
        decoder: lines::<msr::Msr>,
        is: Is::Lines,
    },
    Format {
        name: "alibaba",
        summary: "Alibaba Cloud 2020: device_id,opcode,offset,length,timestamp",
        record: "line",
        decoder: lines::<alibaba::Alibaba>,
        is: Is::Lines,
    },
    Format {
        name: "tencent",
        summary: "Tencent CBS 2018: Timestamp,Offset,Size,IOType,VolumeID",
        record: "line",
        decoder: lines::<tencent::Tencent>,
        is: Is::Lines,
    },
    Format {
        name: "spc",
        summary: "Storage Performance Council: ASU,LBA,Size,Opcode,Timestamp",
        record: "line",
        decoder: lines::<spc::Spc>,
        is: Is::Lines,
    },
    Format {
        name: "disksim",
        summary: "DiskSim, SSDsim, MQSim: arrival device start size operation (0 writes, 1 reads)",
        record: "line",
        decoder: lines::<disksim::DiskSim>,
        is: Is::Lines,
    },
    Format {
        name: "cachelib",
        summary: "CacheLib's key-value traces, straight onto the drive: key,op,size,op_count,key_size",
        record: "line",
        decoder: lines::<cachelib::CacheLib>,
        is: Is::Head(cachelib::is_one),
    },
    Format {
        name: "libcachesim",
        summary: "libCacheSim's CSV: a header with time, size, lbn or obj_id, and op",
        record: "line",
        decoder: lines::<libcachesim::LibCacheSim>,
        is: Is::Head(libcachesim::is_one),
    },
    Format {
        name: "oraclegeneral",
        summary: "libCacheSim's oracleGeneral records; each request counts as a write",
        record: "record",
        decoder: |head| Box::new(oracle_general::OracleGeneral::new(head)),
        is: Is::Head(oracle_general::is_one),
    },
];

/// Returns the format with a name.
pub fn format(name: &str) -> Option<Format> {
    FORMATS.iter().copied().find(|f| f.name == name)
}

/// Returns what to do with a file whose first bytes show that it is not a trace.
pub(crate) fn foreign(head: &[u8]) -> Option<&'static str> {
    let starts: &[(&[u8], &str)] = &[
        (b"\xff\xfe", "text in UTF-16; convert it first: iconv -f UTF-16 -t UTF-8"),
        (b"\xfe\xff", "text in UTF-16; convert it first: iconv -f UTF-16 -t UTF-8"),
        (b"BZh", "compressed with bzip2; gzip, zstd and xz are read: bunzip2 it first"),
        (b"\x04\x22\x4d\x18", "compressed with lz4; gzip, zstd and xz are read: unlz4 it first"),
        (b"PK\x03\x04", "a zip archive; unzip it first"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
        (b"PAR1", "a Parquet file; write it as CSV first"),
        (b"fio version ", "a fio iolog of another version; versions 2 and 3 are read"),
    ];
    if head.get(257..262) == Some(b"ustar") {
        return Some("a tar archive; unpack it first");
    }
    let known = fio_iolog::version(head).is_some();
    let found = starts.iter().find(|(start, _)| head.starts_with(start)).map(|(_, what)| *what);
    found.filter(|_| !known)
}

/// Number of lines used to detect a format.
const SAMPLE: usize = 50;

/// Returns the format of a trace that begins with `head`, if it is not a capture.
pub(crate) fn detect(head: &[u8]) -> Option<Format> {
    let by_head = FORMATS.iter().find(|f| matches!(f.is, Is::Head(is) if is(head)));
    if let Some(format) = by_head {
        return Some(*format);
    }
    // An incomplete last line must not count.
    let mut end = memchr::memrchr(b'\n', head).map_or(head.len(), |n| n + 1);
    if let Some(n) = memchr::memchr_iter(b'\n', head).nth(SAMPLE) {
        end = n + 1;
    }
    let sample = &head[..end];
    let mut best: Option<(Format, u64)> = None;
    for format in FORMATS.iter().filter(|f| matches!(f.is, Is::Lines)) {
        let mut out = Decoded::default();
        (format.decoder)(sample).decode(sample, true, &mut out);
        let good = out.requests.len() as u64;
        // A header or a damaged line may fail, but most lines must not.
        let beats = best.is_none_or(|(_, most)| good > most);
        if good > out.faults.count && beats {
            best = Some((*format, good));
        }
    }
    best.map(|(format, _)| format)
}
