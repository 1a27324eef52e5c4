//! Readers on arbitrary bytes, and streams of requests.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use wafer_interface::{Batch, Command, CommandStream as _, LBA_BYTES, Op, Placement, StreamState};

use super::decode::{Decoded, Decoder};
use super::*;

/// Decodes all of `bytes`, passed in pieces of the lengths in `cuts`.
fn decode(decoder: &mut dyn Decoder, bytes: &[u8], cuts: &[usize]) -> Decoded {
    let mut out = Decoded::default();
    let mut held: Vec<u8> = Vec::new();
    let mut rest = bytes;
    let mut cuts = cuts.iter().cycle();
    loop {
        let cut = cuts.next().map_or(rest.len(), |c| (*c).clamp(1, rest.len().max(1)));
        let (piece, after) = rest.split_at(cut.min(rest.len()));
        rest = after;
        held.extend_from_slice(piece);
        let last = rest.is_empty();
        let used = decoder.decode(&held, last, &mut out);
        assert!(used <= held.len());
        held.drain(..used);
        if last {
            assert!(held.is_empty(), "the end leaves nothing over");
            return out;
        }
    }
}

/// Beginnings that select each format's reader.
const SEEDS: &[&[u8]] = &[
    b"",
    b"fio version 3 iolog\n10 /f write 0 4096\n",
    b"fio version 2 iolog\n/f write 0 4096\n/f wait 10\n",
    b"8,0 3 1 0.000000000 697 D WS 223490 + 8 [kjournald]\n",
    b"128166372003061629,src1,1,Write,8192,4096,1331\n",
    b"419,W,8792731648,16384,1577808144360767\n",
    b"1538323199,12910952,128,0,1063\n",
    b"0,20941264,8192,W,0.551706\n",
    b"6584014 0 21049088 32 1\n",
    b"\x07\x74\x61\x65\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\x07\0\x42\0\0\0\0\0\0\0\x80\0\0\0\0\0\0\0\0\0",
    b"\0\0\0\0\0\x10\0\0\x01\0\0\0\x2a\0\0\x01\x08\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0",
    b"key,op,size,op_count,key_size\na,SET,100,2,20\na,SET,900,1,20\na,GET,0,1,20\n",
    b"time,op,obj_size,obj_id\n1,set,512,a\n2,get,512,a\n3,set,5120,a\n",
    b"version,time,op,size,lbn\n1,5633898,2a,512,42932745\n",
    b"\x01\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
    &[0; 24],
];

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let seed = prop::sample::select(SEEDS).prop_map(<[u8]>::to_vec);
    let text = "[0-9,.+ \\[\\]A-Za-z\n-]{0,200}".prop_map(String::into_bytes);
    let part = prop_oneof![3 => seed, 2 => text, 2 => prop::collection::vec(any::<u8>(), 0..120)];
    let parts = prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat());
    (parts, prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6)).prop_map(
        |(mut bytes, changes)| {
            for (at, byte) in changes.iter().filter(|_| !bytes.is_empty()).collect::<Vec<_>>() {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// No bytes make a reader panic, and the result does not depend on how they are divided.
    #[test]
    fn every_reader_takes_any_bytes(bytes in hostile(), cuts in prop::collection::vec(1usize..90, 1..6)) {
        for format in FORMATS {
            let whole = decode(&mut *(format.decoder)(&bytes), &bytes, &[usize::MAX]);
            let cut = decode(&mut *(format.decoder)(&bytes), &bytes, &cuts);
            prop_assert_eq!(&whole.requests, &cut.requests, "{}", format.name);
            if format.name != "blktrace" {
                // While looking for the next magic number, blktrace counts each search.
                prop_assert_eq!(whole.faults.count, cut.faults.count, "{}", format.name);
            }
        }
    }

    /// The same through a file, with detection, compression and buffers.
    #[test]
    fn every_file_is_read_or_refused(bytes in hostile(), magic in 0usize..5) {
        let magics: [&[u8]; 5] =
            [b"", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"WAFERCAP\x01\0\0\0\0\0\0\0"];
        let bytes = [magics[magic], &bytes].concat();
        let input = std::io::Cursor::new(bytes);
        if let Ok(mut reader) = TraceReader::from_bytes(Path::new("x"), Box::new(input), None) {
            let mut requests = Vec::new();
            while reader.read(&mut requests) {}
            for request in &requests {
                prop_assert!(request.offset.checked_add(request.bytes).is_some());
            }
        }
    }
}

#[test]
fn a_line_without_end_is_one_fault() {
    let mut bytes = vec![b'x'; 300 << 10];
    bytes.extend(b"\n6584014 0 21049088 32 1\n");
    let format = format("disksim").unwrap();
    let input = Box::new(std::io::Cursor::new(bytes));
    let mut reader = TraceReader::from_bytes(Path::new("x"), input, Some(format)).unwrap();
    let mut requests = Vec::new();
    while reader.read(&mut requests) {}
    assert_eq!((requests.len(), reader.faults().count), (1, 1));
}

/// Returns a DiskSim trace of `(milliseconds, volume, first sector, sectors, writes)`.
fn trace(rows: &[(u64, u64, u64, u64, bool)], options: &str) -> (tempfile::NamedTempFile, Trace) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for (time, volume, first, sectors, writes) in rows {
        let op = u8::from(!writes);
        writeln!(file, "{} {volume} {first} {sectors} {op}", time * 1_000_000).unwrap();
    }
    file.flush().unwrap();
    let options: TraceOptions = serde_json::from_str(options).unwrap();
    let scan = Scan::of(file.path(), &options, &|_| true).unwrap().unwrap();
    (file, Trace { scan: Arc::new(scan), options, placements: None })
}

fn target(namespace_bytes: &[u64], until_volume: bool) -> TraceTarget<'static> {
    TraceTarget {
        namespace_bytes: namespace_bytes.to_vec(),
        namespace_handles: vec![8; namespace_bytes.len()],
        page_bytes: 4096,
        until_volume,
        folder: Path::new(""),
    }
}

fn commands(traces: &[Trace], target: &TraceTarget<'_>, most: usize) -> Vec<Command> {
    let mut stream = TraceStream::new(traces, target).unwrap();
    let mut batch = Batch::default();
    // Small batches, so that requests of several commands are split across batches.
    while batch.len() < most {
        let left = most - batch.len();
        if stream.next(&mut batch, left.min(3)) == StreamState::Ended {
            break;
        }
    }
    assert!(batch.times.len() == batch.len());
    let mut commands = batch.commands;
    commands.retain(|command| command.op.has_range());
    commands
}

/// Returns namespace, first block and number of blocks of each command.
fn places(commands: &[Command]) -> Vec<(u8, u64, u64)> {
    commands.iter().map(|c| (c.namespace.0, c.lba, u64::from(c.blocks))).collect()
}

const MIB: u64 = 1 << 20;

#[test]
fn a_trace_that_fits_keeps_its_addresses() {
    let (_file, t) = trace(&[(0, 0, 8, 8, true), (1, 0, 2040, 8, true)], "{}");
    let stream = TraceStream::new(std::slice::from_ref(&t), &target(&[MIB], false)).unwrap();
    assert!(stream.notices().is_empty());
    assert_eq!(stream.total_bytes(), Some(8192));
    assert_eq!(places(&commands(&[t], &target(&[MIB], false), 9)), [(0, 8, 8), (0, 2040, 8)]);
}

#[test]
fn addresses_are_mapped_as_asked() {
    // Written at 10 MiB and 20 MiB + 4 KiB; read in between.
    let rows = [(0, 0, 20_480, 8, true), (1, 0, 40_968, 8, true), (2, 0, 30_000, 8, false)];
    let on = |map: &str, bytes: u64| {
        let (_file, t) = trace(&rows, &format!(r#"{{"map":"{map}"}}"#));
        places(&commands(&[t], &target(&[bytes], false), 9))
    };
    assert_eq!(on("keep", 15 * MIB), [(0, 20_480, 8), (0, 30_000, 8)]);
    assert_eq!(on("wrap", 8 * MIB), [(0, 4096, 8), (0, 8200, 8), (0, 13_616, 8)]);
    // The read lies in a gap, which a compact map omits.
    assert_eq!(on("compact", 2 * MIB), [(0, 0, 8), (0, 2056, 8)]);
    assert_eq!(on("auto", 2 * MIB), [(0, 0, 8), (0, 2056, 8)]);
    // 21 MiB shrink to 4.2: a fifth.
    let scaled = on("scale", 21 * MIB / 5 / 4096 * 4096);
    assert_eq!((scaled[0], scaled[1].1 / 8), ((0, 4088, 8), 8192 / 8));
}

#[test]
fn a_write_over_the_end_wraps_in_two_pieces() {
    let (_file, t) = trace(&[(0, 0, 2044, 8, true)], r#"{"map":"wrap"}"#);
    assert_eq!(places(&commands(&[t], &target(&[MIB], false), 9)), [(0, 2044, 4), (0, 0, 4)]);
}

#[test]
fn volumes_are_joined_or_go_to_namespaces() {
    let rows = [(0, 5, 8, 8, true), (1, 7, 8, 8, true)];
    let (_file, t) = trace(&rows, "{}");
    let two = target(&[4 * MIB, 4 * MIB], false);
    assert_eq!(places(&commands(&[t], &two, 9)), [(0, 8, 8), (0, 2056, 8)]);
    let (_file, t) = trace(&rows, r#"{"volumes":"namespaces"}"#);
    assert_eq!(places(&commands(&[t], &two, 9)), [(0, 8, 8), (1, 8, 8)]);
    for volume in [r#""7""#, "7"] {
        let options = format!(r#"{{"volume":{volume},"namespace":2}}"#);
        let (_file, t) = trace(&rows, &options);
        assert_eq!(places(&commands(&[t], &two, 9)), [(1, 8, 8)]);
    }
}

#[test]
fn volumes_scale_to_their_own_namespaces() {
    // Volumes of 4 MiB and 2 MiB.
    let rows = [
        (0, 0, 4096, 8, true),
        (1, 0, 8184, 8, true),
        (2, 1, 2048, 8, true),
        (3, 1, 4088, 8, true),
    ];
    let (_file, t) = trace(&rows, r#"{"map":"scale","volumes":"namespaces"}"#);
    let two = target(&[2 * MIB, 4 * MIB], false);
    let expected = [(0, 2048, 8), (0, 4088, 8), (1, 4096, 8), (1, 8176, 8)];
    assert_eq!(places(&commands(&[t], &two, 9)), expected);
}

#[test]
fn volumes_are_placed_by_the_handles_of_their_own_namespaces() {
    let rows =
        [(0, 0, 0, 128, true), (1, 0, 128, 8, true), (2, 1, 0, 128, true), (3, 1, 128, 8, true)];
    let placed = |rules: &str, handles: [u16; 2]| -> Result<Vec<u16>, String> {
        let options = format!(r#"{{"volumes":"namespaces","placement":"{rules}"}}"#);
        let (_file, t) = trace(&rows, &options);
        let two = TraceTarget { namespace_handles: handles.into(), ..target(&[MIB, MIB], false) };
        TraceStream::new(std::slice::from_ref(&t), &two).map_err(|e| e.to_string())?;
        Ok(commands(&[t], &two, 9).iter().map(|c| c.placement.0).collect())
    };
    for (rules, handles, expected) in [
        ("size", [1, 4], [0, 0, 2, 0]),
        ("size", [4, 1], [2, 0, 0, 0]),
        ("sequential", [4, 1], [0, 1, 0, 0]),
        ("volume", [4, 2], [0, 0, 1, 1]),
        ("3: volume=1; 1", [2, 4], [1, 1, 3, 3]),
        ("3", [1, 4], [0, 0, 3, 3]),
    ] {
        assert_eq!(placed(rules, handles).unwrap(), expected, "{rules} on {handles:?}");
    }
    let refused = placed("3", [2, 4]).unwrap_err();
    assert!(refused.ends_with("3 is not a placement index of the namespace (0 to 1)"), "{refused}");
}

#[test]
fn several_traces_are_merged_by_time() {
    let (_a, slow) = trace(&[(0, 0, 0, 8, true), (10, 0, 8, 8, true), (20, 0, 16, 8, true)], "{}");
    let (_b, fast) =
        trace(&[(0, 0, 0, 8, true), (22, 0, 8, 8, true), (30, 0, 16, 8, true)], r#"{"speed":2.0}"#);
    // Times 0, 10, 20 and 0, 11, 15.
    let both = [slow, fast];
    let two = target(&[MIB, MIB], false);
    let order: Vec<u8> = commands(&both, &two, 9).iter().map(|c| c.namespace.0).collect();
    assert_eq!(order, [0, 1, 0, 1, 1, 0]);
    // One namespace for both: halves.
    let one = places(&commands(&both, &target(&[2 * MIB], false), 9));
    assert_eq!(one[..2], [(0, 0, 8), (0, 2048, 8)]);
}

#[test]
fn a_trace_repeats_until_it_is_stopped() {
    let rows = [(0, 0, 0, 8, true), (1, 0, 8, 8, true)];
    let (_file, t) = trace(&rows, "{}");
    let endless = target(&[MIB], true);
    let lbas: Vec<u64> = commands(&[t], &endless, 5).iter().map(|c| c.lba).collect();
    assert_eq!(lbas, [0, 8, 0, 8, 0]);
    let (_file, t) = trace(&rows, r#"{"repeat":"once"}"#);
    assert_eq!(commands(&[t], &endless, 5).len(), 2);
    let (_file, t) = trace(&rows, r#"{"repeat":"shift"}"#);
    let shifted = commands(&[t], &endless, 4);
    // 0.618 of 256 pages, rounded down to a page.
    assert_eq!((shifted[2].lba, shifted[3].lba), (158 * 8, 159 * 8));
    // Only reads: nothing would justify a repetition.
    let (_file, t) = trace(&[(0, 0, 0, 8, false)], "{}");
    assert_eq!(commands(&[t], &endless, 5).len(), 1);
}

#[test]
fn a_range_of_time_counts_from_the_first_request() {
    let rows: Vec<_> = (0..10).map(|i| (1000 + i, 0, i * 8, 8, true)).collect();
    let (_file, t) = trace(&rows, r#"{"from":0.003,"to":"5ms"}"#);
    assert_eq!(t.scan.writes.requests, 2);
    let lbas: Vec<u64> = commands(&[t], &target(&[MIB], false), 9).iter().map(|c| c.lba).collect();
    assert_eq!(lbas, [24, 32]);
    // The times of a run count from there too, in every pass.
    let (_file, t) = trace(&rows, r#"{"from":0.003,"to":"5ms"}"#);
    let mut stream = TraceStream::new(&[t], &target(&[MIB], true)).unwrap();
    let mut batch = wafer_interface::Batch::default();
    let _ = stream.next(&mut batch, 4);
    assert_eq!(batch.times, [0, 1_000_000, 1_000_000, 2_000_000]);
}

#[test]
fn placement_follows_the_rules() {
    let rows =
        [(0, 0, 0, 8, true), (1, 0, 8, 128, true), (2, 1, 0, 8, true), (3, 0, 4096, 8, true)];
    let placed = |rules: &str| -> Vec<u16> {
        let (_file, t) = trace(&rows, &format!(r#"{{"placement":"{rules}"}}"#));
        commands(&[t], &target(&[8 * MIB], false), 9).iter().map(|c| c.placement.0).collect()
    };
    const NONE: u16 = Placement::NONE.0;
    assert_eq!(placed("trace"), [NONE; 4]);
    assert_eq!(placed("none"), [NONE; 4]);
    assert_eq!(placed("volume"), [0, 0, 1, 0]);
    assert_eq!(placed("size"), [0, 2, 0, 0]);
    // The second continues where the first ended.
    assert_eq!(placed("sequential"), [0, 1, 0, 0]);
    assert_eq!(
        placed("3: volume=1; 2: size>=64KiB; 1: lba=1MiB..; 0: sequential"),
        [NONE, 2, 3, 1]
    );
    assert_eq!(placed("5: sequential, size>=1KiB; 4"), [4, 5, 4, 4]);
    for bad in [
        "",
        "1: colour=red",
        "x",
        "1: size>=much",
        "1: lba=3",
        "70000",
        "1: lba=5..3",
        "1: size>=8KiB, size<4KiB",
    ] {
        assert!(bad.parse::<PlacementRules>().is_err(), "{bad}");
    }
}

#[test]
fn rules_for_names_that_a_trace_lacks_are_told() {
    let rows = [(0, 0, 0, 8, true), (1, 1, 0, 8, true)];
    let notices = |rules: &str| -> Vec<String> {
        let (_file, t) = trace(&rows, &format!(r#"{{"placement":"{rules}"}}"#));
        let stream = TraceStream::new(&[t], &target(&[8 * MIB], false)).unwrap();
        let path = |line: &String| line.split_once(": ").unwrap().1.to_owned();
        stream.notices().iter().map(path).collect()
    };
    assert!(notices("1: volume=1; 2: size>=64KiB; 0").is_empty());
    assert_eq!(
        notices("1: volume=7*; 2: process=db, volume=1; 3: volume=0; 0"),
        [
            "no process matches `db`, so its rule places nothing",
            "no volume matches `7*`, so its rule places nothing"
        ]
    );
    assert_eq!(notices("process"), ["no request names a process, so all writes go to one handle"]);
}

#[test]
fn rules_are_tables_or_a_file_of_them() {
    let rows =
        [(0, 0, 0, 8, true), (1, 0, 8, 128, true), (2, 1, 0, 8, true), (3, 0, 4096, 8, true)];
    let folder = tempfile::tempdir().unwrap();
    let placed = |placement: &str| -> Result<Vec<u16>, String> {
        let options = format!(r#"{{"placement":{placement}}}"#);
        let options: TraceOptions = serde_json::from_str(&options).map_err(|e| e.to_string())?;
        let (_file, mut t) = trace(&rows, "{}");
        t.options = options;
        let on = TraceTarget { folder: folder.path(), ..target(&[8 * MIB], false) };
        let with_cause = |e: TraceError| match std::error::Error::source(&e) {
            Some(cause) => format!("{e}: {cause}"),
            None => e.to_string(),
        };
        let mut stream = TraceStream::new(&[t], &on).map_err(with_cause)?;
        let mut batch = Batch::default();
        let _ = stream.next(&mut batch, 9);
        Ok(batch.commands.iter().map(|c| c.placement.0).collect())
    };
    let text = r#""3: volume=1; 2: size>=64KiB; 1: lba=1MiB..; 0: sequential""#;
    let tables = r#"[{"handle":3,"volume":1},{"handle":2,"min_size":"64KiB"},
                     {"handle":1,"from":"1MiB"},{"handle":0,"sequential":true}]"#;
    assert_eq!(placed(text), placed(tables));
    let file = "[[rule]]\nhandle = 3\nvolume = \"1\"\n[[rule]]\nhandle = 2\nmin_size = \"64KiB\"\n\
                [[rule]]\nhandle = 1\nfrom = \"1MiB\"\n[[rule]]\nhandle = 0\nsequential = true\n";
    std::fs::write(folder.path().join("rules.toml"), file).unwrap();
    assert_eq!(placed(text), placed(r#""rules:rules.toml""#));
    assert_eq!(
        placed(r#"[{"handle":4,"max_size":"4KiB","sequential":false},{"handle":5}]"#).unwrap(),
        [4, 5, 4, 4]
    );

    for (bad, expected) in [
        (r#"[{"volume":"1"}]"#, "handle"),
        (r#"[{"handle":1,"colour":"red"}]"#, "colour"),
        (r#"[{"handle":1,"min_size":"much"}]"#, "much"),
        (r#"[{"handle":1,"process":"a["}]"#, "process"),
        ("[]", "no rules"),
        (r#"[{"handle":1,"from":"2MiB","to":"1MiB"}]"#, "no address is from 2MiB up to 1MiB"),
        (r#"[{"handle":1,"min_size":8192,"max_size":4096}]"#, "no size is 8KiB or more"),
        (r#""1: random; 99""#, "99 is not a placement index of the namespace (0 to 7)"),
    ] {
        let message = placed(bad).unwrap_err();
        assert!(message.contains(expected), "{bad}: {message}");
    }
    for (text, expected) in [
        ("[[rule]]\nhandle = 70000\n", "rules.toml: line 2"),
        ("[[rule]]\nhandle = 1\nprocess = 3\n", "rules.toml: line 3"),
        ("", "no rules"),
        ("[[rule]]\nhandle = 8\n", "rules.toml: placement: 8 is not a placement index"),
    ] {
        std::fs::write(folder.path().join("rules.toml"), text).unwrap();
        let message = placed(r#""rules:rules.toml""#).unwrap_err();
        assert!(message.contains(expected) && message.lines().count() == 1, "{message}");
    }
    std::fs::write(
        folder.path().join("map.csv"),
        "namespace,first_byte,bytes,handle\n1,0,4096,8\n",
    )
    .unwrap();
    let message = placed(r#""map:map.csv""#).unwrap_err();
    assert!(
        message
            .ends_with("map.csv: placement: 8 is not a placement index of the namespace (0 to 7)"),
        "{message}"
    );
    assert!(placed(r#""rules:missing.toml""#).unwrap_err().ends_with("missing.toml: no such file"));
}

#[test]
fn placements_can_be_given_for_each_request() {
    let rows = [(0, 0, 0, 8, true), (1, 0, 8, 8, false), (2, 0, 16, 8, true), (3, 0, 24, 8, true)];
    let (_file, mut t) = trace(&rows, r#"{"from":0.001}"#);
    t.placements = Some([9u16, 8, 7].as_slice().into());
    let endless = target(&[MIB], true);
    // The first is cut off by the time range, the second reads, the last has none; so in every
    // pass.
    let placed: Vec<(u64, u16)> = commands(&[t], &endless, 6)
        .iter()
        .filter(|c| c.op == Op::Write)
        .map(|c| (c.lba, c.placement.0))
        .collect();
    assert_eq!(placed, [(16, 7), (24, u16::MAX), (16, 7), (24, u16::MAX)]);
}

#[test]
fn reads_that_compaction_leaves_out_are_counted() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for (i, (kind, sector)) in
        [("W", 0), ("R", 0), ("R", 4096), ("R", 8), ("W", 8192)].iter().enumerate()
    {
        writeln!(file, "8,0 0 {i} 0.{i} 1 D {kind} {sector} + 8 [a]").unwrap();
    }
    for (map, unwritten) in [("keep", 0), ("compact", 1), ("pages", 2)] {
        let options: TraceOptions =
            serde_json::from_value(serde_json::json!({ "map": map })).unwrap();
        let scan = Scan::of(file.path(), &options, &|_| true).unwrap().unwrap();
        let t = Trace { scan: Arc::new(scan), options, placements: None };
        let mut stream = TraceStream::new(&[t], &target(&[8 * MIB], false)).unwrap();
        assert_eq!(stream.notices().len(), usize::from(unwritten > 0), "{:?}", stream.notices());
        let mut batch = Batch::default();
        let _ = stream.next(&mut batch, 9);
        assert_eq!(batch.len(), 5 - unwritten);
        let figure = stream.figures().into_iter().find(|figure| figure.name == "trace_unwritten");
        assert_eq!(figure.map_or(0.0, |figure| figure.value), unwritten as f64);
    }
}

#[test]
fn processes_that_write_most_get_handles_of_their_own() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for (i, process) in ["a", "b", "b", "c", "c", "c"].iter().enumerate() {
        writeln!(file, "8,0 0 {i} 0.{i} 1 D W {} + 8 [{process}]", i * 8).unwrap();
    }
    let options: TraceOptions = serde_json::from_str(r#"{"placement":"process"}"#).unwrap();
    let scan = Scan::of(file.path(), &options, &|_| true).unwrap().unwrap();
    let t = Trace { scan: Arc::new(scan), options, placements: None };
    let on = TraceTarget { namespace_handles: vec![2], ..target(&[MIB], false) };
    let placed: Vec<u16> = commands(&[t], &on, 9).iter().map(|c| c.placement.0).collect();
    assert_eq!(placed, [1, 1, 1, 0, 0, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With any map, no command leaves its namespace, and all but `keep` write the same as the trace.
    #[test]
    fn no_command_leaves_its_namespace(
        rows in prop::collection::vec((0u64..50, 0u64..3, 0u64..60_000, 0u64..5_000, any::<bool>()), 1..60),
        map in prop::sample::select(vec!["auto", "keep", "wrap", "scale", "compact"]),
        volumes in prop::sample::select(vec!["join", "namespaces"]),
        repeat in prop::sample::select(vec!["same", "shift"]),
        pages in 700u64..4000,
    ) {
        let options = format!(r#"{{"map":"{map}","volumes":"{volumes}","repeat":"{repeat}"}}"#);
        let (_file, t) = trace(&rows, &options);
        let sizes = [pages * 4096, 2 * pages * 4096];
        let scanned = t.scan.writes.bytes;
        let once = commands(std::slice::from_ref(&t), &target(&sizes, false), usize::MAX);
        let more = commands(&[t], &target(&sizes, true), 300);
        for command in once.iter().chain(&more) {
            let end = command.lba + u64::from(command.blocks);
            prop_assert!(end <= sizes[command.namespace.index()] / LBA_BYTES, "{command:?}");
            prop_assert!(command.blocks > 0);
        }
        let written: u64 = once.iter().filter(|c| c.op == Op::Write).map(Command::bytes).sum();
        if map == "keep" {
            prop_assert!(written <= scanned);
        } else {
            prop_assert_eq!(written, scanned);
        }
    }
}
