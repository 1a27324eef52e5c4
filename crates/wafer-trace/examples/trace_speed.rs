//! Measures every reader in requests per second on one core, next to the speed of copying memory.
//!
//!     cargo run --release -p wafer-trace --example trace_speed [FILE.md]
//!
//! Prints the table to stdout, or writes it to FILE.md under a heading.

use std::hint::black_box;
use std::io::{Cursor, Write as _};
use std::path::Path;
use std::time::Instant;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};
use wafer_trace::{Scan, TraceOptions, TraceReader, write_capture};

const REQUESTS: u64 = 1_000_000;
/// Repetitions; the fastest counts, because the machine may be busy.
const TIMES: usize = 5;

fn text(mut line: impl FnMut(u64, u64, &mut Vec<u8>)) -> Vec<u8> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut out = Vec::new();
    for number in 0..REQUESTS {
        line(number, rng.next_u64() % 50_000_000, &mut out);
    }
    out
}

/// Adds the row of a trace to the table.
fn measure(table: &mut String, name: &str, bytes: &[u8]) {
    let mut best = f64::MAX;
    let mut format = "";
    let mut requests = Vec::new();
    for _ in 0..TIMES {
        let start = Instant::now();
        let input = Box::new(Cursor::new(bytes.to_vec()));
        let copied = start.elapsed();
        let mut reader = TraceReader::from_bytes(Path::new(name), input, None).expect(name);
        let mut seen = 0;
        while reader.read(&mut requests) {
            seen += black_box(&requests).len() as u64;
            requests.clear();
        }
        assert_eq!((seen, reader.faults().count), (REQUESTS, 0), "{name}");
        best = best.min((start.elapsed() - copied).as_secs_f64());
        format = reader.format().name;
    }
    let mut copy = f64::MAX;
    for _ in 0..TIMES {
        let start = Instant::now();
        black_box(bytes.to_vec());
        copy = copy.min(start.elapsed().as_secs_f64());
    }
    let line = format!(
        "| {name} | {format} | {:.1} | {:.0} | {:.1} |\n",
        REQUESTS as f64 / best / 1e6,
        bytes.len() as f64 / best / 1e6,
        best / copy
    );
    eprint!("{line}");
    table.push_str(&line);
}

/// Returns the same requests in wafer's own format.
fn captured(trace: &[u8]) -> Vec<u8> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(trace).expect("a temporary file");
    let options = TraceOptions::default();
    let scan = Scan::of(file.path(), &options, &|_| true).expect("a trace").expect("not stopped");
    let reader = TraceReader::open(file.path(), None).expect("a trace");
    write_capture(reader, &scan, &options, 1, Vec::new()).expect("memory")
}

fn main() {
    let mut table =
        "| trace | format | million requests/s | MB/s | times a copy of it in memory |\n\
                     |---|---|---|---|---|\n"
            .to_owned();
    measure_all(&mut table);
    match std::env::args_os().nth(1) {
        None => print!("{table}"),
        Some(path) => {
            let text = format!(
                "# How fast traces are read\n\nWritten by `make bench`: {REQUESTS} requests of each format on \
                 one core, the fastest of {TIMES} times. Compressed\ntraces count in compressed bytes.\n\n{table}"
            );
            std::fs::write(&path, text).expect("the table can be written");
        }
    }
}

fn measure_all(table: &mut String) {
    let alibaba = text(|n, x, out| _ = writeln!(out, "{},W,{},4096,{}", n % 8, x * 4096, n * 3));
    measure(table, "alibaba", &alibaba);
    measure(table, "alibaba.gz", &{
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(&alibaba).expect("memory");
        gz.finish().expect("memory")
    });
    measure(table, "alibaba.zst", &zstd::encode_all(alibaba.as_slice(), 3).expect("memory"));
    measure(table, "capture", &captured(&alibaba));
    measure(table, "tencent", &text(|n, x, out| _ = writeln!(out, "{n},{},8,1,{}", x * 8, n % 8)));
    measure(
        table,
        "msr",
        &text(|n, x, out| {
            _ = writeln!(out, "{},usr,0,Write,{},4096,100", 128_166_372_003_061_629 + n, x * 4096)
        }),
    );
    measure(
        table,
        "spc",
        &text(|n, x, out| _ = writeln!(out, "0,{},4096,w,{}.{:06}", x * 8, n / 1000, n % 1000)),
    );
    measure(table, "disksim", &text(|n, x, out| _ = writeln!(out, "{n} 0 {} 8 0", x * 8)));
    measure(
        table,
        "blkparse",
        &text(|n, x, out| {
            let (s, ns) = (n / 1_000_000, n % 1_000_000 * 1000);
            _ = writeln!(
                out,
                "  8,0    3 {n:8}  {s:5}.{ns:09}   697  D  WS {} + 8 [kjournald]",
                x * 8
            );
        }),
    );
    let mut iolog = b"fio version 3 iolog\n".to_vec();
    iolog.extend(text(|n, x, out| _ = writeln!(out, "{n} /dev/nvme0n1 write {} 4096", x * 4096)));
    measure(table, "fio iolog", &iolog);
    measure(
        table,
        "blktrace",
        &text(|n, x, out| {
            let head = [0x6561_7407u32, n as u32];
            head.iter().for_each(|v| out.extend(v.to_le_bytes()));
            [n, x * 8].iter().for_each(|v| out.extend(v.to_le_bytes()));
            [4096u32, (1 << 1 | 1 << 6) << 16 | 7, 1, 8 << 20, 0]
                .iter()
                .for_each(|v| out.extend(v.to_le_bytes()));
            out.extend([0; 4]);
        }),
    );
    measure(
        table,
        "vscsi",
        &text(|n, x, out| {
            [n as u32, 4096, 1].iter().for_each(|v| out.extend(v.to_le_bytes()));
            [0x2au16, 0x100].iter().for_each(|v| out.extend(v.to_le_bytes()));
            [x * 8, n].iter().for_each(|v| out.extend(v.to_le_bytes()));
        }),
    );
}
