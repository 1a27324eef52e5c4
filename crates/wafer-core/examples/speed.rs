use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::time::Instant;
use wafer_core::*;
fn main() {
    let gib: u64 = std::env::args().nth(1).map_or(224, |a| a.parse().unwrap());
    let ru: u64 = std::env::args().nth(2).map_or(256, |a| a.parse().unwrap());
    let blocks: u32 = std::env::args().nth(3).map_or(1, |a| a.parse().unwrap());
    let config = DeviceConfig {
        capacity: Bytes(gib << 30),
        page: Bytes(4096),
        reclaim_unit: ReclaimUnitConfig { size: Bytes(ru << 20), count: None },
        overprovisioning: Some(0.10),
        handles: 1,
        groups: 1,
        isolation: Isolation::Initially,
        handle_isolation: Default::default(),
        fdp: true,
        gc: GcConfig::default(),
        namespaces: vec![],
        service: Default::default(),
    };
    let mut d = Device::new(&config, 1).unwrap();
    println!("{:?}", d.geometry().segment_pages);
    let pages = d.geometry().logical_pages;
    // probe
    let n = 50_000_000u64;
    {
        let mut m = memmap2::MmapMut::map_anon(pages as usize * 4).unwrap();
        m.advise(memmap2::Advice::HugePage).unwrap();
        let v: &mut [u32] =
            unsafe { std::slice::from_raw_parts_mut(m.as_mut_ptr().cast(), pages as usize) };
        v.fill(1);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let t = Instant::now();
        let mut buf = vec![0u64; 4096];
        for _ in 0..n / 4096 {
            for b in buf.iter_mut() {
                *b = ((rng.next_u64() as u128 * pages as u128) >> 64) as u64;
            }
            for i in 0..4096 {
                if i + 64 < 4096 {
                    unsafe {
                        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                            v.as_ptr().wrapping_add(buf[i + 64] as usize).cast(),
                        )
                    }
                }
                let e = unsafe { v.get_unchecked_mut(buf[i] as usize) };
                *e = e.wrapping_add(1);
            }
        }
        println!("probe {:.1} M/s", n as f64 / t.elapsed().as_secs_f64() / 1e6);
    }
    let mut batch = Vec::new();
    let t = Instant::now();
    for p in (0..pages).step_by(32) {
        batch.push(Command::write(p * 8, 256, Placement(0)));
        if batch.len() == 4096 {
            d.apply(&batch);
            batch.clear();
        }
    }
    d.apply(&batch);
    println!("fill {:.1} M/s", pages as f64 / t.elapsed().as_secs_f64() / 1e6);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    let nb = pages / blocks as u64;
    for _ in 0..6 {
        d.reset_counters();
        let t = Instant::now();
        for _ in 0..nb / 4096 {
            batch.clear();
            for _ in 0..4096 {
                batch.push(Command::write(
                    (((rng.next_u64() as u128 * nb as u128) >> 64) as u64) * 8 * blocks as u64,
                    8 * blocks,
                    Placement(0),
                ));
            }
            d.apply(&batch);
        }
        let c = d.counters();
        let s = t.elapsed().as_secs_f64();
        println!(
            "host {:.1} M/s media {:.1} M/s waf {:.3} {:?}",
            c.host_pages as f64 / s / 1e6,
            c.media_bytes as f64 / 4096.0 / s / 1e6,
            c.waf(),
            d.debug_stats()
        );
    }
    if pages < 20_000_000 {
        d.check_invariants().unwrap();
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}
