//! Oddities of real files: line ends, byte order marks, headers, blanks, summaries in the middle,
//! absurd numbers. Each file here is written according to its format's documentation.

use std::path::PathBuf;

use wafer_interface::Op;
use wafer_trace::{NO_PROCESS, Request, Scan, TraceOptions, TraceReader, format};

/// Requests, and messages without the folder.
struct Seen {
    format: &'static str,
    requests: Vec<Request>,
    messages: Vec<String>,
    volumes: Vec<String>,
    processes: Vec<String>,
}

fn seen_as(bytes: &[u8], name: Option<&str>) -> Result<Seen, String> {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("t");
    std::fs::write(&path, bytes).unwrap();
    let mut reader = TraceReader::open(&path, name.map(|n| format(n).unwrap()))
        .map_err(|e| crate::with_causes(&e))?;
    let mut requests = Vec::new();
    while reader.read(&mut requests) {}
    let prefix = format!("{}/", folder.path().display());
    Ok(Seen {
        format: reader.format().name,
        requests,
        messages: reader.messages().iter().map(|m| m.replace(&prefix, "")).collect(),
        volumes: reader.names().volumes().to_vec(),
        processes: reader.names().processes().to_vec(),
    })
}

fn seen(text: &str) -> Seen {
    seen_as(text.as_bytes(), None).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Returns operation, offset and bytes of each request.
fn plain(seen: &Seen) -> Vec<(Op, u64, u64)> {
    seen.requests.iter().map(|r| (r.op, r.offset, r.bytes)).collect()
}

/// Checks that line ends, mark, comments, blanks and the last line do not change the requests.
fn same_in_every_dress(text: &str) {
    let expected = seen(text);
    assert!(expected.messages.is_empty() && !expected.requests.is_empty(), "{text}");
    let end = text.trim_end();
    let dresses = [
        end.to_owned(),
        text.replace('\n', "\r\n"),
        format!("\u{feff}{text}"),
        format!("\u{feff}{}", end.replace('\n', "\r\n")),
        text.replace('\n', "  \n"),
        text.replace('\n', "\t\n\n   \n"),
    ];
    for dress in dresses {
        let got = seen(&dress);
        assert_eq!(got.format, expected.format, "{dress:?}");
        assert_eq!(got.requests, expected.requests, "{dress:?}");
        assert_eq!(got.messages, [""; 0], "{dress:?}");
        assert_eq!(got.processes, expected.processes, "{dress:?}");
    }
}

const MSR: &str = "128166372003061629,hm,0,Read,383496192,32768,413\n\
    128166372016382155,hm,0,Write,2822144000,4096,1218\n";
const ALIBABA: &str =
    "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n";
const TENCENT: &str = "1538323200,12910952,128,0,1063\n1538323200,6265872,8,1,1284\n";
const SPC: &str = "0,303567,3584,w,0.000000\n1,55590,3072,R,0.026214\n";
const DISKSIM: &str = "6584014 0 21049088 32 1\n8030026 0 20948736 128 0\n";
const BLKPARSE: &str = "  8,0    3        3     0.000004359   697  D  WS 223490 + 8 [kjournald]\n  \
    8,0    1        5     0.001000000  1024  D   R 1024 + 256 [Web Content]\n";
const FIO2: &str = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda write 0 4096\n\
    /dev/sda wait 250\n/dev/sda trim 4096 8192\n/dev/sda close\n";
const FIO3: &str = "fio version 3 iolog\n1 /dev/sda add\n2 /dev/sda open\n3 /dev/sda write 0 4096\n\
    9 /dev/sda datasync\n";

#[test]
fn line_ends_marks_blanks_and_a_missing_last_newline_change_nothing() {
    for text in [MSR, ALIBABA, TENCENT, SPC, DISKSIM, BLKPARSE, FIO2, FIO3] {
        same_in_every_dress(text);
    }
}

#[test]
fn headers_and_comments_are_no_damage() {
    for (header, text) in [
        ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime", MSR),
        ("device_id,opcode,offset,length,timestamp", ALIBABA),
        ("Timestamp,Offset,Size,IOType,VolumeID", TENCENT),
        ("ASU,LBA,Size,Opcode,Timestamp", SPC),
        ("# recorded on a Tuesday", DISKSIM),
        ("# blkparse -i sda", BLKPARSE),
    ] {
        let got = seen(&format!("{header}\n{text}"));
        assert_eq!(got.messages, [""; 0], "{header}");
        assert_eq!(got.requests, seen(text).requests, "{header}");
    }
}

#[test]
fn blanks_around_columns_are_left_out() {
    for text in [MSR, ALIBABA, TENCENT, SPC] {
        let got = seen(&text.replace(',', " , "));
        let expected = seen(text);
        assert_eq!(got.messages, [""; 0], "{text}");
        assert_eq!(got.requests, expected.requests, "{text}");
        assert_eq!(got.volumes, expected.volumes, "{text}");
    }
    assert_eq!(seen(&MSR.replace("Write", "write").replace("Read", "READ")).requests.len(), 2);
    assert_eq!(seen(&ALIBABA.replace('W', "w")).requests.len(), 2);
}

#[test]
fn times_may_have_fractions() {
    let at = |text: &str| seen(text).requests[0].time_ns;
    assert_eq!(at("1538323200.25,8,8,1,7\n"), 1_538_323_200_250_000_000);
    assert_eq!(at("3,W,0,4096,12.5\n"), 12_500);
    assert_eq!(at("128166372003061629.5,hm,0,Read,0,512,4\n") % 1000, 950);
    // With a fraction, as in DiskSim itself: milliseconds.
    assert_eq!(at("17.250000 0 8 8 0\n"), 17_250_000);
    // Not a number: a damaged line.
    let got = seen("0,8,512,w,1e3\n0,8,512,w,2\n0,8,512,w,3\n");
    assert_eq!(got.requests[0].time_ns, 2_000_000_000);
    assert_eq!(got.messages, ["t:1: Timestamp: expected seconds"]);
}

#[test]
fn numbers_that_no_drive_has_are_named_with_their_line() {
    let huge = "99999999999999999999999";
    for (bad, expected) in [
        (format!("1,hm,0,Write,{huge},4096,1"), "t:3: Offset: expected bytes"),
        (
            "1,hm,0,Write,18446744073709551615,4096,1".to_owned(),
            "t:3: the address and length overflow",
        ),
        ("1,hm,0,Write,0,99999999999,1".to_owned(), "t:3: a read or write of more than 4 GiB"),
        ("1,hm,0,Write,-4096,4096,1".to_owned(), "t:3: Offset: expected bytes"),
        ("1,hm,0,Write,4096".to_owned(), "t:3: expected 7 columns"),
        ("1,hm,0,Flush,0,0,1".to_owned(), "t:3: Type: expected Read or Write"),
    ] {
        let got = seen(&format!("{MSR}{bad}\n{MSR}"));
        assert_eq!(got.requests.len(), 4, "{bad}");
        assert_eq!(got.messages.len(), 1, "{bad}: {:?}", got.messages);
        assert!(got.messages[0].starts_with(expected), "{bad}: {:?}", got.messages);
    }
    let got = seen(&format!("{TENCENT}1538323200,36028797018963968,8,1,3\n"));
    assert_eq!(got.messages, ["t:3: an address of more than 2^64 bytes"]);
}

#[test]
fn blkparse_output_with_everything_in_it() {
    let text = "  8,0    0        1     0.000000000  1234  A  WS 4196352 + 8 <- (8,1) 2048\n\
        \x20 8,0    0        2     0.000000701  1234  Q  WS 4196352 + 8 [jbd2/sda1-8]\n\
        \x20 8,0    0        3     0.000001403  1234  P   N [jbd2/sda1-8]\n\
        \x20 8,0    0        4     0.000001893  1234  U   N [jbd2/sda1-8] 1\n\
        \x20 8,0    0        5     0.000002000  1234  I  WS 4196352 + 8 [jbd2/sda1-8]\n\
        \x20 8,0    0        0     0.000002100     0  m   N cfq1234S / alloced [x] + 8\n\
        \x20 8,0    0        6     0.000002404  1234  D  WS 4196352 + 8 [jbd2/sda1-8]\n\
        \x20 8,0    0        7     0.000003404    99  D   R 36 (12 00 00 00 24 00 ..) [smartd]\n\
        \x20 8,0    0        8     0.000003504    99  D   N 0 (00 ..) [smartd]\n\
        \x20 8,0    0        9     0.000003604    98  D  WS 16 + 8 [tmux: server [a]]  \n\
        \x20 8,0    0       10     0.000003704     0  D FWS [kworker/1:1H]\n\
        \x20 8,0    0       11     0.000003804     0  C  WS 4196352 + 8 [0]\n\
        \x20 8,0    0       12     0.000003904    98  D  DS 1024 + 2048 [fstrim]\n\
        CPU0 (8,0):\n\
        \x20Reads Queued:           0,        0KiB\t Writes Queued:           1,        4KiB\n\
        \n\
        Total (8,0):\n\
        \x20Read depth:             0        \t Write depth:             1\n\
        \n\
        Throughput (R/W): 0KiB/s / 4KiB/s\n\
        Events (8,0): 12 entries\n\
        Skips: 0 forward (0 -   0.0%)\n\
        259,3   11        1     0.500000000     7  D   W 8 + 8 [second file]\n";
    let got = seen(text);
    assert_eq!(got.format, "blkparse");
    assert_eq!(got.messages, [""; 0]);
    assert_eq!(
        plain(&got),
        [
            (Op::Write, 4_196_352 * 512, 4096),
            (Op::Write, 16 * 512, 4096),
            (Op::Flush, 0, 0),
            (Op::Deallocate, 1024 * 512, 2048 * 512),
            (Op::Write, 4096, 4096),
        ]
    );
    assert_eq!(got.processes, ["jbd2/sda1-8", "tmux: server [a]", "fstrim", "second file"]);
    assert_eq!(got.volumes, ["8,0", "259,3"]);
}

#[test]
fn blkparse_output_with_nothing_but_completions_counts_them() {
    let got = seen("8,0 3 1 0.0 697 C W 8 + 8 [0]\n8,0 3 2 0.1 697 C R 16 + 8 [0]\n");
    assert_eq!(got.requests.len(), 2);
    assert!(got.requests.iter().all(|r| r.process == NO_PROCESS));
}

#[test]
fn iologs_of_several_files() {
    let got = seen(
        "fio version 2 iolog\nA add\nB add\nA open\nB open\nA write 0 4096\nB wait 100\nB write 0 8192\n\
         A wait 50\nA read 4096 4096\nB sync\nB trim 0 8192\nA close\nB close\n",
    );
    assert_eq!(got.volumes, ["A", "B"]);
    let times: Vec<u64> = got.requests.iter().map(|r| r.time_ns).collect();
    assert_eq!(times, [0, 100_000, 150_000, 150_000, 150_000]);
    let volumes: Vec<u32> = got.requests.iter().map(|r| r.volume).collect();
    assert_eq!(volumes, [0, 1, 0, 1, 1]);
    let got = seen(
        "fio version 3 iolog\n0 A add\n0 A open\n5 A write 0 4096\n6 A erase 0 1\n7 A close\n",
    );
    assert_eq!(
        got.messages,
        ["t:5: expected add, open, close, read, write, trim, sync, datasync or wait"]
    );
}

#[test]
fn files_that_are_something_else_are_named() {
    let mut tar = vec![0; 512];
    tar[..5].copy_from_slice(b"a.csv");
    tar[257..262].copy_from_slice(b"ustar");
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(MSR.bytes().flat_map(|b| [b, 0])).collect();
    for (bytes, expected) in [
        (tar.as_slice(), "t: a tar archive; unpack it first"),
        (&utf16, "t: text in UTF-16"),
        (b"BZh91AY&SY", "t: compressed with bzip2"),
        (b"PK\x03\x04....", "t: a zip archive"),
        (b"\x04\x22\x4d\x18....", "t: compressed with lz4"),
        (b"PAR1....", "t: a Parquet file"),
        (b"fio version 1 iolog\nA write 0 4096\n", "t: a fio iolog of another version"),
        (b"fio version 4 iolog\n0 A write 0 4096\n", "t: a fio iolog of another version"),
        (b"\xef\xbb\xbf", "t: holds no requests"),
        (b"0,1000\n1,2000\n", "t: no known format"),
    ] {
        let Err(message) = seen_as(bytes, None) else { panic!("{expected}: read") };
        let (_, message) = message.rsplit_once('/').unwrap();
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(message.lines().count(), 1);
    }
}

#[test]
fn a_trace_that_is_not_in_order_of_time_says_so() {
    let notice = |milliseconds: [u64; 4]| {
        let line =
            |ms: u64| format!("{},h,0,Write,0,4096,1\n", 128_000_000_000_000_000 + ms * 10_000);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        std::fs::write(&path, milliseconds.map(line).concat()).unwrap();
        let scan = Scan::of(&path, &TraceOptions::default(), &|_| true).unwrap().unwrap();
        scan.out_of_order()
    };
    assert_eq!(notice([0, 20, 10, 30]), None);
    let late = notice([0, 2500, 10, 3000]).unwrap();
    assert!(late.contains(
        "t: not in order of time: 1 of 4 requests come after later ones, by up to 2.49 s"
    ));
}

#[test]
fn a_capture_without_a_command_is_read() {
    let header = b"{}";
    let capture = [b"WAFERCAP\x01\0\0\0\x02\0\0\0".as_slice(), header].concat();
    let seen = seen_as(&capture, None).unwrap();
    assert_eq!((seen.format, seen.requests.len(), seen.messages.len()), ("capture", 0, 0));
}

/// Returns the record of an issued write, as blktrace writes it.
fn issued(time: u64, sector: u64, big: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |value: u64, bytes: usize| {
        let all = value.to_be_bytes();
        let mut field = all[8 - bytes..].to_vec();
        if !big {
            field.reverse();
        }
        out.extend(field);
    };
    put(0x6561_7407, 4);
    put(1, 4);
    put(time, 8);
    put(sector, 8);
    put(4096, 4);
    put((1 << 1 | 1 << 6) << 16 | 7, 4);
    put(1, 4);
    put(8 << 20, 4);
    put(0, 4);
    put(0, 2);
    put(0, 2);
    out
}

#[test]
fn files_of_several_processors_are_one_trace() {
    for big in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = |n: u32| folder.path().join(format!("sda.blktrace.{n}"));
        let write = |n: u32, records: &[(u64, u64)]| {
            let bytes: Vec<u8> = records.iter().flat_map(|(t, s)| issued(*t, *s, big)).collect();
            std::fs::write(path(n), bytes).unwrap();
        };
        write(0, &[(10, 8), (40, 16), (50, 24)]);
        write(1, &[(20, 32), (45, 40)]);
        write(2, &[]);
        // Processor 3 was offline; 10 comes after 9.
        write(10, &[(5, 48), (60, 56)]);
        std::fs::write(folder.path().join("sda.blktrace.bak"), "no trace").unwrap();
        std::fs::write(folder.path().join("sdb.blktrace.1"), issued(1, 99, big)).unwrap();
        let read = |path: &std::path::Path| {
            let mut reader = TraceReader::open(path, None).unwrap();
            let mut requests = Vec::new();
            while reader.read(&mut requests) {}
            let sectors: Vec<u64> = requests.iter().map(|r| r.offset / 512).collect();
            (sectors, reader.faults().count, reader.format().name)
        };
        assert_eq!(read(&path(0)), (vec![48, 8, 32, 16, 40, 24, 56], 0, "blktrace"));
        // Another processor's file is read by itself.
        assert_eq!(read(&path(1)), (vec![32, 40], 0, "blktrace"));
        // Damage in one does not stop the rest.
        let mut bytes = std::fs::read(path(1)).unwrap();
        bytes[48] ^= 0xff;
        std::fs::write(path(1), bytes).unwrap();
        let (sectors, faults, _) = read(&path(0));
        assert_eq!((sectors, faults), (vec![48, 8, 32, 16, 24, 56], 1));
    }
}
