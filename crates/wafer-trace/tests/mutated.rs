//! Every reader on damaged copies of good traces: thousands of mutations of a corpus with all formats, plain and
//! compressed. Any file is read or refused, in bounded memory, and can be played.
//!
//! `MUTATIONS=N cargo test -p wafer-trace --test main mutated` runs N cases of each sample instead
//! of the default. A failure names the sample and the case, which reproduce the same bytes.

use std::io::{Cursor, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};
use wafer_interface::{Batch, CommandStream as _, LBA_BYTES, Op};
use wafer_trace::{
    FORMATS, Map, Request, Scan, Trace, TraceOptions, TraceReader, TraceStream, TraceTarget,
    Volumes, write_capture,
};

/// Cases for each of the nineteen samples: a few seconds.
const CASES: u64 = 200;
/// Maximum bytes of a read or write that a drive receives.
const LARGEST_TRANSFER: u64 = 4 << 30;

struct Rng(Xoshiro256PlusPlus);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n.max(1) as u64) as usize
    }
}

/// A good trace and the name of its format.
struct Sample {
    name: String,
    format: &'static str,
    bytes: Vec<u8>,
}

fn blktrace(big_endian: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for n in 0..24u64 {
        let (category, action, bytes, payload): (u32, u32, u32, &[u8]) = match n % 6 {
            0 => (1 << 10, 0, 0, b"mysqld\0\0"),
            1 => (1 << 13 | 1 << 6, 7, 1 << 20, b""),
            2 => (1 << 2 | 1 << 6, 7, 0, b""),
            3 => (1, 7, 8192, b""),
            _ => (1 << 1 | 1 << 6, 7, 4096, b""),
        };
        let long = |v: u64| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
        let word = |v: u32| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
        let half = |v: u16| if big_endian { v.to_be_bytes() } else { v.to_le_bytes() };
        out.extend([word(0x6561_7407), word(n as u32)].concat());
        out.extend([long(n * 1000), long(n * 64)].concat());
        for value in [bytes, category << 16 | action, 77, 8 << 20 | 16, 0] {
            out.extend(word(value));
        }
        out.extend([half(0), half(payload.len() as u16)].concat());
        out.extend(payload);
    }
    out
}

fn vscsi(version: u16) -> Vec<u8> {
    let mut out = Vec::new();
    for n in 0..24u64 {
        let command = [0x2au16, 0x28, 0x42, 0x35][n as usize % 4].to_le_bytes();
        let version_field = (version << 8).to_le_bytes();
        let words = [n as u32, 4096, 1].map(u32::to_le_bytes).concat();
        let longs = [n * 8, n * 10].map(u64::to_le_bytes).concat();
        match version {
            1 => out.extend([&words[..], &command, &version_field, &longs].concat()),
            _ => {
                out.extend(
                    [&command[..], &version_field, &words, &longs, &7u64.to_le_bytes()].concat(),
                );
            }
        }
    }
    out
}

fn packed(bytes: &[u8], how: &str) -> Vec<u8> {
    match how {
        "gz" => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        "zst" => zstd::encode_all(bytes, 1).unwrap(),
        _ => {
            let mut out = liblzma::write::XzEncoder::new(Vec::new(), 0);
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
    }
}

/// All formats: the sample files, generated binary records, a capture, three compressed files.
fn corpus() -> Vec<Sample> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut samples = Vec::new();
    for (file, format) in [
        ("blkparse.txt", "blkparse"),
        ("fio-v2.log", "fio"),
        ("fio-v3.log", "fio"),
        ("msr.csv", "msr"),
        ("alibaba.csv", "alibaba"),
        ("tencent.csv", "tencent"),
        ("financial.spc", "spc"),
        ("mqsim.trace", "disksim"),
    ] {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        samples.push(Sample { name: file.to_owned(), format, bytes });
    }
    let made = |name: &str, format, bytes| Sample { name: name.to_owned(), format, bytes };
    samples.push(made("blktrace, little", "blktrace", blktrace(false)));
    samples.push(made("blktrace, big", "blktrace", blktrace(true)));
    let oracle: Vec<u8> = (0..24u64)
        .flat_map(|n| {
            let object = if n % 5 == 0 { u64::MAX - n } else { n };
            let words =
                [&(n as u32).to_le_bytes()[..], &object.to_le_bytes(), &4000u32.to_le_bytes()];
            [&words.concat()[..], &(-1i64).to_le_bytes()].concat()
        })
        .collect();
    samples.push(made("oracleGeneral", "oraclegeneral", oracle));
    let csv =
        "version,time,op,size,lbn\n1,0,2a,512,8\n1,1,28,4096,8\n1,2,42,4096,8\n1,3,2a,512,9\n";
    samples.push(made("libCacheSim's CSV", "libcachesim", csv.into()));
    let csv = "key,op,size,op_count,key_size\na,SET,100,2,20\nb,SET,5000,1,30\na,SET,900,1,20\n\
        a,GET,900,1,20\na,DELETE,0,1,20\n";
    samples.push(made("CacheLib's CSV", "cachelib", csv.into()));
    samples.push(made("vscsi 1", "vscsi", vscsi(1)));
    samples.push(made("vscsi 2", "vscsi", vscsi(2)));
    let options = TraceOptions::default();
    let source = folder.join("blkparse.txt");
    let scan = Scan::of(&source, &options, &|_| true).unwrap().unwrap();
    let reader = TraceReader::open(&source, None).unwrap();
    samples.push(made(
        "capture",
        "capture",
        write_capture(reader, &scan, &options, 1, Vec::new()).unwrap(),
    ));
    let text = samples[4].bytes.repeat(8);
    for how in ["gz", "zst", "xz"] {
        samples.push(made(&format!("alibaba.csv.{how}"), "alibaba", packed(&text, how)));
    }
    samples
}

/// Damages a file: changes, loses, repeats, moves, cuts off bytes, or takes another format's.
fn damage(bytes: &mut Vec<u8>, rng: &mut Rng, others: &[Sample]) {
    const NUMBERS: &[&[u8]] = &[
        b"18446744073709551615",
        b"18446744073709551616",
        b"9223372036854775808",
        b"1125899906842624",
        b"4294967296",
        b"0",
        b"-1",
        b"1e9",
        b"0x10",
        b"",
    ];
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(bytes.len() + 1);
        let end = (at + 1 + rng.below(32)).min(bytes.len());
        match rng.below(11) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 if at < bytes.len() => {
                bytes[at] = [0, 0xff, 0x7f, 0x80, b'\n', b',', b' '][rng.below(7)]
            }
            2 => drop(bytes.drain(at.min(end)..end)),
            3 => bytes.truncate(at),
            4 => {
                let piece = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => {
                let other = &others[rng.below(others.len())].bytes;
                let from = rng.below(other.len());
                let piece = other[from..(from + 1 + rng.below(64)).min(other.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            // Replace a number.
            6 | 7 => {
                if let Some(first) = (at..bytes.len()).find(|i| bytes[*i].is_ascii_digit()) {
                    let rest = bytes[first..].iter().position(|b| !b.is_ascii_digit());
                    let last = rest.map_or(bytes.len(), |n| first + n);
                    bytes.splice(first..last, NUMBERS[rng.below(NUMBERS.len())].iter().copied());
                }
            }
            // All ones in a field of a binary record.
            8 => bytes[at.min(end)..end].iter_mut().take(8).for_each(|b| *b = 0xff),
            // Remove a separator.
            9 => {
                let is = |b: &u8| matches!(b, b',' | b' ' | b'\n' | b'.');
                if let Some(n) = bytes[at.min(end)..].iter().position(is) {
                    bytes.remove(at.min(end) + n);
                }
            }
            _ => {
                let noise: Vec<u8> = (0..rng.below(40)).map(|_| rng.0.next_u64() as u8).collect();
                bytes.splice(at..at, noise);
            }
        }
    }
}

/// Checks what must hold for any file; returns the numbers of requests and damaged records.
fn try_file(bytes: &[u8], path: &Path, format: &str) -> (usize, u64) {
    let named = FORMATS.iter().copied().find(|f| f.name == format && format != "capture");
    let mut most = (0, 0);
    for format in [None, named] {
        let input = Box::new(Cursor::new(bytes.to_vec()));
        let Ok(mut reader) = TraceReader::from_bytes(path, input, format) else { continue };
        let mut requests: Vec<Request> = Vec::new();
        let mut reads = 0;
        while reader.read(&mut requests) {
            reads += 1;
            assert!(reads < 10_000, "the reader does not end");
        }
        for request in &requests {
            assert!(request.offset.checked_add(request.bytes).is_some(), "{request:?}");
            let moves = matches!(request.op, Op::Read | Op::Write);
            assert!(!moves || request.bytes <= LARGEST_TRANSFER, "{request:?}");
            assert!(
                (request.volume as usize) < reader.names().volumes().len().max(1),
                "{request:?}"
            );
        }
        assert!(
            reader.messages().len() <= 8 && reader.messages().len() as u64 <= reader.faults().count
        );
        most = most.max((requests.len(), reader.faults().count));
    }
    most
}

/// The same through a file that is scanned and played on a small device.
fn play_file(bytes: &[u8], path: &Path, rng: &mut Rng) {
    std::fs::write(path, bytes).unwrap();
    let options = TraceOptions {
        map: [Map::Auto, Map::Keep, Map::Wrap, Map::Scale, Map::Compact][rng.below(5)],
        volumes: [Volumes::Join, Volumes::Namespaces][rng.below(2)],
        ..TraceOptions::default()
    };
    let Ok(Some(scan)) = Scan::of(path, &options, &|_| true) else { return };
    let strict = TraceOptions { strict: true, ..options.clone() };
    assert_eq!(Scan::of(path, &strict, &|_| true).is_err(), scan.faults.count > 0);
    let sizes = [1 << 20, 4 << 20];
    let target = TraceTarget {
        namespace_bytes: sizes.to_vec(),
        namespace_handles: vec![2, 2],
        page_bytes: 4096,
        until_volume: rng.below(2) == 0,
        folder: Path::new(""),
    };
    let trace = Trace { scan: Arc::new(scan), options, placements: None };
    let Ok(mut stream) = TraceStream::new(&[trace], &target) else { return };
    let mut batch = Batch::default();
    let _ = stream.next(&mut batch, 2_000);
    for command in batch.commands {
        let end = command.lba + u64::from(command.blocks);
        assert!(end * LBA_BYTES <= sizes[command.namespace.index()], "{command:?}");
    }
}

#[test]
fn no_damage_makes_a_reader_fail() {
    let cases = std::env::var("MUTATIONS").ok().map_or(CASES, |n| n.parse().expect("MUTATIONS=N"));
    let corpus = corpus();
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("trace");
    let (mut read, mut damaged, mut files) = (0, 0, 0u64);
    for (number, sample) in corpus.iter().enumerate() {
        let (requests, faults) = try_file(&sample.bytes, &path, sample.format);
        assert!(
            requests >= 3 && faults <= 1,
            "{}: {requests} requests, {faults} damaged",
            sample.name
        );
        for case in 0..cases {
            let mut rng = Rng(Xoshiro256PlusPlus::seed_from_u64((number as u64) << 32 | case));
            let mut bytes = sample.bytes.clone();
            damage(&mut bytes, &mut rng, &corpus);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let found = try_file(&bytes, &path, sample.format);
                play_file(&bytes, &path, &mut rng);
                found
            }));
            let Ok((requests, faults)) = outcome else {
                panic!("sample `{}`, case {case}: see above", sample.name);
            };
            read += usize::from(requests > 0);
            damaged += usize::from(faults > 0);
            files += 1;
        }
    }
    // Mutations that readers refuse at once, or do not notice, would test nothing.
    assert!(read as u64 * 2 > files, "requests in {read} of {files} files");
    assert!(damaged as u64 * 4 > files, "damage in {damaged} of {files} files");
}
