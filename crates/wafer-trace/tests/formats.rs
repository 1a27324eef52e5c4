//! Every format on a small file made for these tests: its contents and its faults.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use wafer_interface::{Op, Placement};
use wafer_trace::{NO_PROCESS, Request, Scan, TraceOptions, TraceReader, write_capture};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces").join(name)
}

fn read(path: &Path) -> (Vec<Request>, TraceReader) {
    let mut reader = TraceReader::open(path, None).unwrap();
    let mut requests = Vec::new();
    while reader.read(&mut requests) {}
    (requests, reader)
}

/// Returns operation, nanoseconds, offset and bytes of each request.
fn plain(requests: &[Request]) -> Vec<(Op, u64, u64, u64)> {
    requests.iter().map(|r| (r.op, r.time_ns, r.offset, r.bytes)).collect()
}

#[test]
fn blkparse_text() {
    let (requests, reader) = read(&sample("blkparse.txt"));
    assert_eq!(reader.format().name, "blkparse");
    assert_eq!(
        plain(&requests),
        [
            (Op::Write, 4_359, 223_490 * 512, 4096),
            (Op::Read, 1_000_000, 1024 * 512, 131_072),
            (Op::Deallocate, 2_000_000, 4096 * 512, 65_536 * 512),
            (Op::Flush, 3_000_000, 0, 0),
            (Op::Write, 1_250_000_000, 99 * 512, 512),
        ]
    );
    let names = reader.names();
    assert_eq!(names.volumes(), ["8,0", "8,16"]);
    assert_eq!(requests[4].volume, 1);
    assert_eq!(names.processes(), ["kjournald", "cc1", "fstrim", "jbd2/sda1-8"]);
    assert_eq!(requests[3].process, NO_PROCESS);
    assert_eq!(reader.faults().count, 1);
    assert!(reader.messages()[0].ends_with("blkparse.txt:10: length: expected sectors"));
}

#[test]
fn blkparse_text_that_has_no_issues_counts_queueing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q");
    std::fs::write(&path, "8,0 3 1 0.0 697 Q W 8 + 8 [a]\n8,0 3 2 0.1 697 C W 8 + 8 [0]\n")
        .unwrap();
    assert_eq!(read(&path).0.len(), 1);
}

#[test]
fn msr_cambridge() {
    let (requests, reader) = read(&sample("msr.csv"));
    assert_eq!(reader.format().name, "msr");
    let second = (128_166_372_016_382_155u64 - 128_166_372_003_061_629) * 100;
    assert_eq!(requests[1].time_ns.wrapping_sub(requests[0].time_ns), second);
    assert_eq!((requests[0].op, requests[0].offset, requests[0].bytes), (Op::Write, 8192, 4096));
    assert_eq!(reader.names().volumes(), ["src1.1", "src1.0"]);
    assert!(reader.messages()[0].ends_with("msr.csv:4: Type: expected Read or Write"));
}

/// fio's manual says that times in version 3 are milliseconds; fio itself writes microseconds.
#[test]
fn times_of_an_iolog_that_fio_writes() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let options =
        "--name=j --ioengine=null --rw=write --bs=4k --size=1g --rate_iops=1000 --number_ios=500";
    let done = std::process::Command::new("fio")
        .args(options.split(' '))
        .arg(format!("--write_iolog={}", log.display()))
        .current_dir(folder.path())
        .output()
        .expect("fio is part of the test environment");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = std::fs::read(&log).unwrap();
    assert!(text.starts_with(b"fio version 3"), "this fio writes another version");
    let (requests, _) = read(&log);
    let times: Vec<u64> = requests.iter().map(|request| request.time_ns).collect();
    assert_eq!(times.len(), 500);
    // 500 writes at 1,000 per second; a busy machine is slower, but not a thousand times.
    let seconds = (times[499] - times[0]) as f64 / 1e9;
    assert!((0.4..20.0).contains(&seconds), "{seconds}");
}

#[test]
fn alibaba() {
    let (requests, reader) = read(&sample("alibaba.csv"));
    assert_eq!(reader.format().name, "alibaba");
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[2].time_ns - requests[0].time_ns, 233_000);
    assert_eq!((requests[2].volume, requests[2].offset, requests[2].bytes), (0, 4096, 512));
    assert_eq!((reader.faults().count, reader.names().volumes().len()), (0, 2));
}

#[test]
fn tencent() {
    let (requests, reader) = read(&sample("tencent.csv"));
    assert_eq!(reader.format().name, "tencent");
    assert_eq!((requests[0].op, requests[0].bytes), (Op::Read, 65_536));
    assert_eq!((requests[1].op, requests[1].offset), (Op::Write, 6_265_872 * 512));
    assert_eq!((requests[2].volume, requests[2].time_ns - requests[0].time_ns), (0, 1_000_000_000));
}

#[test]
fn spc() {
    let (requests, reader) = read(&sample("financial.spc"));
    assert_eq!(reader.format().name, "spc");
    assert_eq!(plain(&requests)[0], (Op::Write, 551_706_000, 20_941_264 * 512, 8192));
    assert_eq!((requests[2].op, requests[2].volume), (Op::Read, 1));
}

#[test]
fn disksim() {
    let (requests, reader) = read(&sample("mqsim.trace"));
    assert_eq!(reader.format().name, "disksim");
    assert_eq!(plain(&requests)[0], (Op::Read, 6_584_014, 21_049_088 * 512, 16_384));
    assert_eq!(plain(&requests)[1], (Op::Write, 8_030_026, 20_948_736 * 512, 65_536));
}

#[test]
fn fio_iologs() {
    let (requests, reader) = read(&sample("fio-v2.log"));
    assert_eq!(reader.format().name, "fio");
    assert_eq!(
        plain(&requests),
        [
            (Op::Write, 0, 0, 65_536),
            (Op::Deallocate, 1_500_000, 65_536, 4096),
            (Op::Flush, 1_500_000, 0, 0),
            (Op::Read, 1_500_000, 0, 4096),
        ]
    );
    let (requests, reader) = read(&sample("fio-v3.log"));
    assert_eq!(reader.faults().count, 0);
    assert_eq!(
        plain(&requests),
        [
            (Op::Write, 226_000, 0, 65_536),
            (Op::Write, 1_299_000, 65_536, 65_536),
            (Op::Flush, 1_300_000, 0, 0),
        ]
    );
}

#[test]
fn an_iolog_of_the_installed_fio() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let status = std::process::Command::new("fio")
        .args(["--name=a", "--size=256k", "--bs=16k", "--rw=randwrite", "--output=/dev/null"])
        .arg(format!("--write_iolog={}", log.display()))
        .arg(format!("--filename={}", folder.path().join("data").display()))
        .status()
        .expect("fio runs (scripts/need-fio installs it)");
    assert!(status.success());
    let (requests, reader) = read(&log);
    assert_eq!((reader.format().name, reader.faults().count), ("fio", 0));
    let mut offsets: Vec<u64> =
        requests.iter().filter(|r| r.op == Op::Write).map(|r| r.offset).collect();
    offsets.sort_unstable();
    assert_eq!(offsets, (0..16).map(|i| i * 16_384).collect::<Vec<u64>>());
}

/// Returns a blktrace record, big-endian if `swap` is set.
fn blk(sector: u64, bytes: u32, action: u32, pid: u32, payload: &[u8], swap: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let u32s = |value: u32, out: &mut Vec<u8>| {
        out.extend(if swap { value.to_be_bytes() } else { value.to_le_bytes() });
    };
    u32s(0x6561_7407, &mut out);
    u32s(1, &mut out);
    let time = 5_000u64;
    out.extend(if swap { time.to_be_bytes() } else { time.to_le_bytes() });
    out.extend(if swap { sector.to_be_bytes() } else { sector.to_le_bytes() });
    for value in [bytes, action, pid, 8 << 20 | 16, 0] {
        u32s(value, &mut out);
    }
    out.extend([0, 0]);
    let length = payload.len() as u16;
    out.extend(if swap { length.to_be_bytes() } else { length.to_le_bytes() });
    out.extend(payload);
    out
}

#[test]
fn blktrace_records_in_both_byte_orders() {
    const WRITE_ISSUE: u32 = (1 << 1 | 1 << 6) << 16 | 7;
    for swap in [false, true] {
        let mut bytes = blk(0, 0, 1 << 26, 77, b"mysqld\0\0", swap);
        bytes.extend(blk(8, 4096, (1 << 1 | 1 << 4) << 16 | 1, 77, b"", swap));
        bytes.extend(blk(8, 4096, WRITE_ISSUE, 77, b"", swap));
        bytes.extend(blk(64, 1 << 20, (1 << 13 | 1 << 6) << 16 | 7, 78, b"", swap));
        bytes.extend(blk(0, 0, (1 << 2 | 1 << 6) << 16 | 7, 78, b"", swap));
        bytes.extend(b"rubbish");
        bytes.extend(blk(16, 512, WRITE_ISSUE, 77, b"", swap));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        std::fs::write(&path, &bytes).unwrap();
        let (requests, reader) = read(&path);
        assert_eq!(reader.format().name, "blktrace");
        assert_eq!(
            plain(&requests),
            [
                (Op::Write, 5_000, 4096, 4096),
                (Op::Deallocate, 5_000, 32_768, 1 << 20),
                (Op::Flush, 5_000, 0, 0),
                (Op::Write, 5_000, 8192, 512),
            ]
        );
        assert_eq!(reader.names().processes(), ["mysqld"]);
        assert_eq!((requests[0].process, requests[1].process), (0, NO_PROCESS));
        assert_eq!(reader.names().volumes(), ["8,16"]);
        assert_eq!(reader.faults().count, 1);
        assert!(reader.messages()[0].contains("record 6"), "{:?}", reader.messages());
    }
}

#[test]
fn vscsi_records_of_both_versions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let mut one = Vec::new();
    let mut two = Vec::new();
    for (i, command) in [0x2au16, 0x28, 0x42].into_iter().enumerate() {
        let (i32, i64) = (i as u32, i as u64);
        one.extend(i32.to_le_bytes());
        one.extend(4096u32.to_le_bytes());
        one.extend(1u32.to_le_bytes());
        one.extend(command.to_le_bytes());
        one.extend(0x0100u16.to_le_bytes());
        one.extend((i64 * 8).to_le_bytes());
        one.extend((i64 * 10).to_le_bytes());
        two.extend(command.to_le_bytes());
        two.extend(0x0200u16.to_le_bytes());
        two.extend(i32.to_le_bytes());
        two.extend(4096u32.to_le_bytes());
        two.extend(1u32.to_le_bytes());
        two.extend((i64 * 8).to_le_bytes());
        two.extend((i64 * 10).to_le_bytes());
        two.extend(7u64.to_le_bytes());
    }
    for bytes in [one, two] {
        std::fs::write(&path, &bytes).unwrap();
        let (requests, reader) = read(&path);
        assert_eq!(reader.format().name, "vscsi");
        assert_eq!(
            plain(&requests),
            [
                (Op::Write, 0, 0, 4096),
                (Op::Read, 10_000, 4096, 4096),
                (Op::Deallocate, 20_000, 8192, 4096)
            ]
        );
    }
}

#[test]
fn compressed_files_hold_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read(sample("alibaba.csv")).unwrap();
    let expected = read(&sample("alibaba.csv")).0;
    let gz = folder.path().join("a.gz");
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(&text).unwrap();
    let gz_bytes = out.finish().unwrap();
    std::fs::write(&gz, &gz_bytes).unwrap();
    let zst = folder.path().join("a.zst");
    std::fs::write(&zst, zstd::encode_all(text.as_slice(), 3).unwrap()).unwrap();
    let xz = folder.path().join("a.xz");
    let mut out = liblzma::write::XzEncoder::new(Vec::new(), 1);
    out.write_all(&text).unwrap();
    std::fs::write(&xz, out.finish().unwrap()).unwrap();
    for path in [gz, zst, xz] {
        assert_eq!(read(&path).0, expected, "{}", path.display());
    }
    // Two members one after the other, as from `cat a.gz b.gz`.
    let twice = folder.path().join("twice.gz");
    std::fs::write(&twice, [gz_bytes.as_slice(), &gz_bytes].concat()).unwrap();
    assert_eq!(read(&twice).0.len(), 2 * expected.len());
}

#[test]
fn a_file_cut_off_within_its_compression_keeps_what_came_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.gz");
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for i in 0..200_000u64 {
        writeln!(out, "3,W,{},4096,{}", (i * 7919 % 100_000) * 4096, i).unwrap();
    }
    let bytes = out.finish().unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let (requests, reader) = read(&path);
    assert!(requests.len() > 50_000, "{}", requests.len());
    // The truncated file, and perhaps the line that it truncates.
    assert!((1..=2).contains(&reader.faults().count));
    assert!(reader.messages().iter().any(|m| m.contains("cut off")), "{:?}", reader.messages());
    let strict = TraceOptions { strict: true, ..TraceOptions::default() };
    assert!(Scan::of(&path, &strict, &|_| true).is_err());
}

#[test]
fn files_that_are_no_traces_are_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, expected) in [
        ("empty", &b""[..], "the trace is empty"),
        ("blank", b"\n\n  \n", "the trace is empty"),
        ("prose", b"It was a dark and stormy night\n", "no known format"),
        ("binary", &[0x80, 0xff, 0, 1, 2, 3], "no known format"),
        ("capture", b"WAFERCAP\x02\0\0\0\0\0\0\0", "version 2"),
        ("short", b"WAFERCAP\x01\0", "too early"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let message = crate::with_causes(&TraceReader::open(&path, None).unwrap_err());
        assert!(message.contains(expected) && message.contains(name), "{message}");
        assert_eq!(message.lines().count(), 1);
    }
    let missing = TraceReader::open(&folder.path().join("missing"), None).unwrap_err();
    assert!(crate::with_causes(&missing).ends_with("missing: no such file"));
    let is_folder = TraceReader::open(folder.path(), None).unwrap_err();
    let message = crate::with_causes(&is_folder);
    assert!(message.ends_with("is a folder, not a trace"), "{message}");
}

/// Encodes records of libCacheSim's `oracleGeneral`: seconds, object, bytes, next request.
fn oracle_general(records: &[(u32, u64, u32, i64)]) -> Vec<u8> {
    let record = |(seconds, object, bytes, next): &(u32, u64, u32, i64)| {
        let mut out = seconds.to_le_bytes().to_vec();
        out.extend(object.to_le_bytes());
        out.extend(bytes.to_le_bytes());
        out.extend(next.to_le_bytes());
        out
    };
    records.iter().flat_map(record).collect()
}

fn saved(folder: &tempfile::TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("trace");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn oracle_general_of_a_block_trace_names_sectors() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = oracle_general(&[
        (7, 42_932_745, 512, -1),
        (7, 6_160_447, 4096, 4),
        (8, 100, 0, -1),
        (9, 6_160_447, 4096, i64::MAX),
    ]);
    let packed = zstd::encode_all(&bytes[..], 1).unwrap();
    bytes.push(1);
    for (bytes, damaged) in [(&bytes, 1), (&packed, 0)] {
        let (requests, reader) = read(&saved(&folder, bytes));
        assert_eq!(reader.format().name, "oraclegeneral");
        assert_eq!(
            plain(&requests),
            [
                (Op::Write, 7_000_000_000, 42_932_745 * 512, 512),
                (Op::Write, 7_000_000_000, 6_160_447 * 512, 4096),
                (Op::Write, 9_000_000_000, 6_160_447 * 512, 4096),
            ]
        );
        assert_eq!(reader.faults().count, damaged);
    }
    // A next request before its own number or times that go back rule out this format.
    for damaged in [&[(7, 1, 512, 1), (7, 2, 512, 1)], &[(7, 1, 512, -1), (6, 2, 512, -1)]] {
        let path = saved(&folder, &oracle_general(damaged));
        assert!(TraceReader::open(&path, None).is_err());
    }
}

#[test]
fn objects_keep_their_place_until_they_grow() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = oracle_general(&[
        (1, u64::MAX, 100, 3),
        (1, 77, 1000, -1),
        (2, u64::MAX, 512, 4),
        (3, u64::MAX, 513, -1),
    ]);
    let second = 1_000_000_000;
    assert_eq!(
        plain(&read(&saved(&folder, &bytes)).0),
        [
            (Op::Write, second, 0, 100),
            (Op::Write, second, 512, 1000),
            (Op::Write, 2 * second, 0, 512),
            (Op::Deallocate, 3 * second, 0, 512),
            (Op::Write, 3 * second, 1536, 513),
        ]
    );
}

#[test]
fn csv_of_libcachesim() {
    let folder = tempfile::tempdir().unwrap();
    let text = "version,time,op,size,lbn\n1,5633898,2a,512,42932745\n1,5633899,28,4096,8\n\
        1,5633899,42,4096,8\n1,5633899,zz,4096,8\n";
    let (requests, reader) = read(&saved(&folder, text.as_bytes()));
    assert_eq!(reader.format().name, "libcachesim");
    let second = 1_000_000_000;
    assert_eq!(
        plain(&requests),
        [
            (Op::Write, 5_633_898 * second, 42_932_745 * 512, 512),
            (Op::Read, 5_633_899 * second, 4096, 4096),
            (Op::Deallocate, 5_633_899 * second, 4096, 4096),
        ]
    );
    assert!(reader.messages()[0].contains(":5: op: expected"), "{:?}", reader.messages());
    // Objects, columns in a different order, and no operations.
    let text = "obj_size, obj_id, time\n4096,a,0.5\n4096,b,1\n10,a,2\n";
    let (requests, reader) = read(&saved(&folder, text.as_bytes()));
    assert_eq!((reader.format().name, reader.faults().count), ("libcachesim", 0));
    let places: Vec<u64> = requests.iter().map(|request| request.offset).collect();
    assert_eq!((places, requests[0].time_ns), (vec![0, 4096, 0], second / 2));
}

#[test]
fn key_value_traces_of_cachelib() {
    let folder = tempfile::tempdir().unwrap();
    let text = "key,op,size,op_count,key_size\na,GET,0,3,20\na,SET,1004,2,20\nb,SET,5000,1,30\n\
        a,GET_LEASE,1004,1,20\na,DELETE,0,1,20\nc,FLY,1,1,1\nc,SET,1,99999,1\n";
    let (requests, reader) = read(&saved(&folder, text.as_bytes()));
    assert_eq!(reader.format().name, "cachelib");
    assert_eq!(
        plain(&requests),
        [
            (Op::Write, 0, 0, 1024),
            (Op::Write, 0, 0, 1024),
            (Op::Write, 0, 1024, 5030),
            (Op::Read, 0, 0, 1024),
            (Op::Deallocate, 0, 0, 1024),
        ]
    );
    assert_eq!(reader.faults().count, 2);
    let text = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n\
        564726471,a,20,SET,1,100,0,300,feed,x\n564726472,a,20,SET,1,100.0,0,,ads,y\n";
    let (requests, reader) = read(&saved(&folder, text.as_bytes()));
    assert_eq!(reader.faults().count, 0, "{:?}", reader.messages());
    assert_eq!(requests[1].time_ns - requests[0].time_ns, 1_000_000_000);
    assert_eq!(reader.names().processes(), ["feed", "ads"]);
    assert_eq!((requests[0].process, requests[1].process), (0, 1));
}

/// A line that stands for many requests does not fill the memory: they arrive in pieces.
#[test]
fn repeated_requests_come_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("key,op,size,op_count\n{}", "a,SET,1,65536\n".repeat(100));
    let mut reader = TraceReader::open(&saved(&folder, text.as_bytes()), None).unwrap();
    let (mut requests, mut all, mut largest) = (Vec::new(), 0, 0);
    while reader.read(&mut requests) {
        all += requests.len();
        largest = largest.max(requests.len());
        requests.clear();
    }
    assert_eq!(all, 6_553_600);
    assert!(largest < 1 << 19, "{largest} at once");
}

/// 32 MB in pages at least a mebibyte apart count as 32 MB, without the granules around them.
#[test]
fn touched_bytes_are_those_of_the_pages_written() {
    let folder = tempfile::tempdir().unwrap();
    let line = |n: u64| format!("{n} 0 {} 8 0\n", n % 4000 * 2056);
    let text: String = (0..8000).map(line).collect();
    let path = saved(&folder, text.as_bytes());
    let scan = Scan::of(&path, &TraceOptions::default(), &|_| true).unwrap().unwrap();
    assert_eq!(scan.touched_bytes(), 4000 * 4096);
    assert_eq!(scan.volumes[0].compact_bytes(), 4000 << 20);
}

#[test]
fn the_extent_of_a_volume_is_that_of_its_writes() {
    let folder = tempfile::tempdir().unwrap();
    let extent = |text: &str| {
        let path = saved(&folder, text.as_bytes());
        let scan = Scan::of(&path, &TraceOptions::default(), &|_| true).unwrap().unwrap();
        (scan.volumes[0].start, scan.volumes[0].end)
    };
    // Arrival, device, first sector, sectors, and 1 for a read.
    assert_eq!(extent("1 0 8 8 1\n2 0 2048 8 0\n3 0 16384 8 1\n"), (1 << 20, (1 << 20) + 4096));
    assert_eq!(extent("1 0 16384 8 1\n"), (0, 0));
}

#[test]
fn strict_names_the_first_damaged_line() {
    let strict = TraceOptions { strict: true, ..TraceOptions::default() };
    let message = Scan::of(&sample("msr.csv"), &strict, &|_| true).unwrap_err().to_string();
    assert!(message.contains("msr.csv:4: Type: expected Read or Write"), "{message}");
    let lenient =
        Scan::of(&sample("msr.csv"), &TraceOptions::default(), &|_| true).unwrap().unwrap();
    assert_eq!((lenient.faults.count, lenient.requests()), (1, 3));
}

#[test]
fn a_trace_becomes_a_capture_and_stays_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["blkparse.txt", "fio-v3.log", "financial.spc", "msr.csv"] {
        let options = TraceOptions::default();
        let scan = Scan::of(&sample(name), &options, &|_| true).unwrap().unwrap();
        let reader = TraceReader::open(&sample(name), None).unwrap();
        let bytes = write_capture(reader, &scan, &options, 19, Vec::new()).unwrap();
        let path = folder.path().join("c");
        std::fs::write(&path, bytes).unwrap();
        let (from_capture, reader) = read(&path);
        assert_eq!(reader.format().name, "capture");
        let original = read(&sample(name)).0;
        assert_eq!(from_capture.len(), original.len(), "{name}");
        let origin = original[0].time_ns;
        for (ours, theirs) in from_capture.iter().zip(&original) {
            assert_eq!(
                (ours.op, ours.bytes.div_ceil(512)),
                (theirs.op, theirs.bytes.div_ceil(512))
            );
            assert_eq!(ours.offset / 512, theirs.offset / 512);
            assert_eq!(ours.time_ns, theirs.time_ns - origin, "{name}");
            assert_eq!(ours.placement, Placement::NONE);
        }
    }
}

#[test]
fn a_late_line_does_not_delay_those_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.spc");
    // The third line comes before its time; the last one is exactly on time.
    let lines = [(0, 0.0), (8, 0.001), (16, 3.5), (24, 0.002), (32, 0.003), (40, 4.0)];
    let lines = lines.map(|(lba, seconds)| format!("0,{lba},4096,W,{seconds}\n"));
    std::fs::write(&path, lines.concat()).unwrap();
    let options = TraceOptions::default();
    let scan = Scan::of(&path, &options, &|_| true).unwrap().unwrap();
    let reader = TraceReader::open(&path, None).unwrap();
    let bytes = write_capture(reader, &scan, &options, 1, Vec::new()).unwrap();
    let capture = folder.path().join("c");
    std::fs::write(&capture, bytes).unwrap();
    let seen: Vec<_> =
        read(&capture).0.iter().map(|r| (r.offset / 512, r.time_ns / 1_000_000)).collect();
    assert_eq!(seen, [(0, 0), (8, 1), (24, 2), (32, 3), (16, 3500), (40, 4000)]);
}
