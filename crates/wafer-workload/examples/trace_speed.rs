//! Requests per second of every reader, beside how fast memory is copied.
//!
//!     cargo run --release -p wafer-workload --example trace_speed

use std::hint::black_box;
use std::io::{Cursor, Write as _};
use std::path::Path;
use std::time::Instant;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};
use wafer_workload::trace::TraceReader;

const REQUESTS: u64 = 1_000_000;
/// The fastest counts: the machine may be busy.
const TIMES: usize = 5;

fn text(mut line: impl FnMut(u64, u64, &mut Vec<u8>)) -> Vec<u8> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut out = Vec::new();
    for number in 0..REQUESTS {
        line(number, rng.next_u64() % 50_000_000, &mut out);
    }
    out
}

fn measure(name: &str, bytes: &[u8]) {
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
    println!(
        "| {name} | {format} | {:.1} | {:.0} | {:.1} |",
        REQUESTS as f64 / best / 1e6,
        bytes.len() as f64 / best / 1e6,
        best / copy
    );
}

fn main() {
    println!("| trace | format | million requests/s | MB/s | times a copy of it in memory |");
    println!("|---|---|---|---|---|");
    let alibaba = text(|n, x, out| _ = writeln!(out, "{},W,{},4096,{}", n % 8, x * 4096, n * 3));
    measure("alibaba", &alibaba);
    measure("alibaba.gz", &{
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(&alibaba).expect("memory");
        gz.finish().expect("memory")
    });
    measure("alibaba.zst", &zstd::encode_all(alibaba.as_slice(), 3).expect("memory"));
    measure("tencent", &text(|n, x, out| _ = writeln!(out, "{n},{},8,1,{}", x * 8, n % 8)));
    measure(
        "msr",
        &text(|n, x, out| {
            _ = writeln!(out, "{},usr,0,Write,{},4096,100", 128_166_372_003_061_629 + n, x * 4096)
        }),
    );
    measure(
        "spc",
        &text(|n, x, out| _ = writeln!(out, "0,{},4096,w,{}.{:06}", x * 8, n / 1000, n % 1000)),
    );
    measure("disksim", &text(|n, x, out| _ = writeln!(out, "{n} 0 {} 8 0", x * 8)));
    measure(
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
    measure("fio iolog", &iolog);
    measure(
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
        "vscsi",
        &text(|n, x, out| {
            [n as u32, 4096, 1].iter().for_each(|v| out.extend(v.to_le_bytes()));
            [0x2au16, 0x100].iter().for_each(|v| out.extend(v.to_le_bytes()));
            [x * 8, n].iter().for_each(|v| out.extend(v.to_le_bytes()));
        }),
    );
}
