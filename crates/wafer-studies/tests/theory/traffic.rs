//! T10, T11, T13: overwriting in order, deallocation, partial pages.

use wafer_interface::{Command, LBA_BYTES, Placement};
use wafer_studies::theory::traffic::{mapped_share, partial_page_factor, trimmed};
use wafer_studies::theory::uniform::fifo;
use wafer_studies::theory::{Spare, Victim};

use super::bench::{Bench, ONE_LOG, Rng, UNIFORM, apply_full, config, spare};
use super::check;

#[test]
fn t10_in_order() {
    let config = config(256, 400, ONE_LOG);
    let pages = spare(&config, &[0]).physical_pages() / 1.07;
    let bench = Bench::new(config, pages, UNIFORM, false);
    let mut device = bench.device();
    let mut batch = Vec::new();
    for write in 0..10 * bench.pages() {
        batch.push(bench.write(0, write % bench.pages()));
        apply_full(&mut device, &mut batch);
    }
    device.apply(&batch);
    let counters = device.counters();
    assert_eq!((counters.relocated_pages, counters.waf()), (0, 1.0));
    assert!(counters.erased_bytes > 8 * bench.pages() * 4096);
}

/// A share `q` of the requests deallocates a random mapped page. Returns the WAF and the mapped share.
fn with_deallocation(bench: &Bench, q: f64, requests: [u64; 2]) -> (f64, f64) {
    let mut device = bench.device();
    bench.fill(&mut device);
    let mut rng = Rng::new(bench.seed);
    let mut mapped: Vec<u32> = (0..bench.pages() as u32).collect();
    let mut position: Vec<u32> = mapped.clone();
    let blocks = bench.config.page.0 / LBA_BYTES;
    let (mut batch, mut sum) = (Vec::new(), 0.0);
    for requests in requests {
        device.reset_counters();
        sum = 0.0;
        for _ in 0..requests {
            if rng.unit() < q {
                let at = rng.below(mapped.len() as u64) as usize;
                let page = mapped.swap_remove(at);
                position[page as usize] = u32::MAX;
                if let Some(moved) = mapped.get(at) {
                    position[*moved as usize] = at as u32;
                }
                batch.push(Command::deallocate(u64::from(page) * blocks, blocks as u32));
            } else {
                let page = rng.below(bench.pages());
                if position[page as usize] == u32::MAX {
                    position[page as usize] = mapped.len() as u32;
                    mapped.push(page as u32);
                }
                batch.push(Command::write(page * blocks, blocks as u32, Placement(0)));
            }
            sum += mapped.len() as f64;
            apply_full(&mut device, &mut batch);
        }
        device.apply(&batch);
        batch.clear();
    }
    (device.counters().waf(), sum / requests[1] as f64 / bench.pages() as f64)
}

#[test]
fn t11_deallocation() {
    for (op, q) in [(0.07, 0.05), (0.07, 0.2), (0.14, 0.1), (0.28, 0.02)] {
        let theory = trimmed(op, q, Victim::Fifo).unwrap();
        let config = config(256, 1000, &format!("{ONE_LOG}gc.policy = \"fifo\""));
        let physical: Spare = spare(&config, &[0]);
        let bench = Bench::new(config, physical.fifo_pages(theory) / (1.0 + op), UNIFORM, false);
        let requests = [6.0, 8.0].map(|v| (v * bench.pages() as f64) as u64);
        let (waf, mapped) = with_deallocation(&bench, q, requests);
        check(&format!("T11 mapped share, q = {q}"), op, mapped_share(q).unwrap(), mapped, 0.01);
        check(&format!("T11 FIFO, q = {q}"), op, theory, waf, 0.01);
    }
}

#[test]
fn t13_partial_pages() {
    for (op, blocks) in [(0.14, 1), (0.28, 4)] {
        let a = fifo(op).unwrap();
        let config = config(256, 800, &format!("{ONE_LOG}gc.policy = \"fifo\""));
        let pages = spare(&config, &[0]).fifo_pages(a) / (1.0 + op);
        let mut bench = Bench::new(config, pages, UNIFORM, false);
        bench.blocks = Some(blocks);
        let host = f64::from(blocks) * LBA_BYTES as f64;
        let theory = a * partial_page_factor(4096.0, host).unwrap();
        check(&format!("T13 FIFO, {host} of 4096 B"), op, theory, bench.waf(), 0.01);
    }
}
