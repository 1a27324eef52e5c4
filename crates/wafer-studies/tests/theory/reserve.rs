//! Checks that [`Spare`](wafer_studies::theory::Spare) counts correctly: small devices with a large
//! reserve, where half a reclaim unit more or less is 2 % of the WAF.

use wafer_studies::theory::uniform::{fifo, greedy};

use super::bench::{Bench, UNIFORM, config, spare};
use super::check;

const OP: f64 = 0.07;
/// 12 of 400 reclaim units stay free.
const RUS: u64 = 400;
const RESERVE: &str = "gc.forced_free = 0.03\n";

#[test]
fn one_stream() {
    let theory = greedy(OP, 256).unwrap();
    for (name, log) in [
        ("one log", "fdp = false\ngc.separate = false"),
        ("own GC RU", "fdp = false\ngc.separate = true"),
        ("II, 3 idle handles", "handles = 4"),
        ("PI", "handles = 1\nisolation = \"persistently\""),
    ] {
        let config = config(256, RUS, &format!("{RESERVE}{log}"));
        let pages = spare(&config, &[0]).physical_pages() / (1.0 + OP);
        let waf = Bench::new(config, pages, UNIFORM, false).volumes(6.0, 12.0).waf();
        check(&format!("reserve: {name}"), OP, theory, waf, 0.01);
    }
    let theory = fifo(OP).unwrap();
    let config = config(
        256,
        RUS,
        &format!("{RESERVE}gc.policy = \"fifo\"\nfdp = false\ngc.separate = false"),
    );
    let pages = spare(&config, &[0]).fifo_pages(theory) / (1.0 + OP);
    let waf = Bench::new(config, pages, UNIFORM, false).volumes(6.0, 12.0).waf();
    check("reserve: FIFO, one log", OP, theory, waf, 0.01);
}

/// To greedy, streams of equal heat are one stream, whatever the isolation: only open reclaim units
/// make a difference.
#[test]
fn several_streams() {
    let theory = greedy(OP, 256).unwrap();
    for isolation in ["initially", "persistently"] {
        let more = format!("{RESERVE}handles = 4\nisolation = \"{isolation}\"");
        let config = config(256, RUS, &more);
        let pages = spare(&config, &[0, 1, 2, 3]).physical_pages() / (1.0 + OP);
        let waf = Bench::new(config, pages, &[(0.25, 0.25); 4], true).volumes(6.0, 12.0).waf();
        check(&format!("reserve: 4 streams, {isolation}"), OP, theory, waf, 0.01);
    }
}
