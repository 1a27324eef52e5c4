//! Measures the speed of the application models in commands and written pages per second, next to a
//! probe that does as little as a stream can: it writes one page after the other.
//!
//! `cargo run --release -p wafer-apps --example model_speed`

use std::time::Instant;

use wafer_apps::model::{Extent, MODELS, Space};
use wafer_interface::{Batch, Command, CommandStream, Op, Placement, StreamState, stream};

/// A stream that does as little as a stream can: sequential writes of one page.
fn probe() -> impl CommandStream {
    let mut next = 0;
    stream::from_fn(move |out, max| {
        let first = next;
        next += max as u64;
        out.extend(
            (first..next).map(|page| Command::write(page % (1 << 20) * 8, 8, Placement::NONE)),
        );
    })
}

/// Returns commands and pages per second, measured over half a second.
fn speed(stream: &mut dyn CommandStream) -> (f64, f64) {
    let mut batch = Batch::with_capacity(4096);
    while stream.load(&mut batch, 4096) == StreamState::Ready {
        batch.clear();
    }
    let (mut commands, mut pages) = (0, 0);
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < 0.5 {
        batch.clear();
        let _ = stream.next(&mut batch, 4096);
        commands += batch.len();
        let writes = batch.commands.iter().filter(|c| c.op == Op::Write);
        pages += writes.map(|c| c.bytes().div_ceil(4096)).sum::<u64>();
    }
    let seconds = start.elapsed().as_secs_f64();
    (commands as f64 / seconds, pages as f64 / seconds)
}

fn main() {
    let extent = |bytes| Extent { bytes, handles: Some(8) };
    let space = Space { page_bytes: 4096, namespaces: vec![extent(8 << 30), extent(8 << 30)] };
    println!("{:<14} {:>12} {:>16}", "model", "commands/s", "written pages/s");
    let (commands, pages) = speed(&mut probe());
    println!("{:<14} {:>10.2} M {:>14.2} M", "(probe)", commands / 1e6, pages / 1e6);
    for info in MODELS {
        let model = (info.make)(Default::default()).expect("defaults");
        let mut stream = model.start(&space, 1).expect("8 GiB are enough");
        let (commands, pages) = speed(stream.as_mut());
        println!("{:<14} {:>10.2} M {:>14.2} M", info.name, commands / 1e6, pages / 1e6);
    }
}
