//! How fast the application models are: commands and written pages a second, beside a probe that
//! writes one page after the other: the least that a stream can do.
//!
//! `cargo run --release -p wafer-workload --example model_speed`

use std::time::Instant;

use wafer_core::{Command, Op, Placement};
use wafer_workload::CommandStream;
use wafer_workload::model::{Extent, MODELS, Space};

/// The least that a stream does.
struct Probe(u64);

impl CommandStream for Probe {
    fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        let first = self.0;
        self.0 += max as u64;
        out.extend(
            (first..self.0).map(|page| Command::write(page % (1 << 20) * 8, 8, Placement::NONE)),
        );
    }
}

/// Commands and pages a second over half a second.
fn speed(stream: &mut dyn CommandStream) -> (f64, f64) {
    let mut batch = Vec::with_capacity(4096);
    let mut load = 1;
    while load > 0 {
        batch.clear();
        stream.fill_load(&mut batch, 4096);
        load = batch.len();
    }
    let (mut commands, mut pages) = (0, 0);
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < 0.5 {
        batch.clear();
        stream.fill(&mut batch, 4096);
        commands += batch.len();
        let writes = batch.iter().filter(|c| c.op == Op::Write);
        pages += writes.map(|c| c.bytes().div_ceil(4096)).sum::<u64>();
    }
    let seconds = start.elapsed().as_secs_f64();
    (commands as f64 / seconds, pages as f64 / seconds)
}

fn main() {
    let extent = |bytes| Extent { bytes, handles: Some(8) };
    let space = Space { page_bytes: 4096, namespaces: vec![extent(8 << 30), extent(8 << 30)] };
    println!("{:<14} {:>12} {:>16}", "model", "commands/s", "written pages/s");
    let (commands, pages) = speed(&mut Probe(0));
    println!("{:<14} {:>10.2} M {:>14.2} M", "(probe)", commands / 1e6, pages / 1e6);
    for info in MODELS {
        let model = (info.make)(Default::default()).expect("defaults");
        let mut stream = model.start(&space, 1).expect("8 GiB are enough");
        let (commands, pages) = speed(stream.as_mut());
        println!("{:<14} {:>10.2} M {:>14.2} M", info.name, commands / 1e6, pages / 1e6);
    }
}
