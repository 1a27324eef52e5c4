use super::*;

/// Sizes, zones and the share of reads are the standard's; no command leaves its zone.
#[test]
fn the_mix_is_the_standards() {
    let bytes = 1 << 30;
    let space = Space::single(bytes, 1);
    let mut app = Jesd219a::new(&Jesd219aConfig::default(), &space, 3).unwrap();
    let mut out = Vec::new();
    let n = 1_000_000;
    while out.len() < n {
        app.step(&mut out);
    }
    let share = |of: &dyn Fn(&Command) -> bool| {
        out.iter().filter(|c| of(c)).count() as f64 / n as f64 * 100.0
    };
    for (size, percent) in SIZES {
        let found = share(&|c| c.bytes() == size);
        assert!((found - percent as f64).abs() < 0.2, "{size}: {found} %");
    }
    let mut first = 0.0;
    for (percent, end) in ZONES {
        let end = bytes as f64 * end as f64 / 100.0;
        let found = share(&|c| (first..end).contains(&((c.lba * LBA_BYTES) as f64 + 65536.0)));
        assert!((found - percent as f64).abs() < 0.4, "up to {end}: {found} %");
        first = end;
    }
    assert!((share(&|c| c.op == Op::Read) - 40.0).abs() < 0.3);
    for command in &out {
        assert!(command.lba * LBA_BYTES + command.bytes() <= bytes);
        assert!(command.bytes() < 4096 || command.lba.is_multiple_of(8));
    }
}

#[test]
fn four_kib_folds_the_small_sizes() {
    let config = Jesd219aConfig { smallest: Bytes(4096), ..Default::default() };
    let mut app = Jesd219a::new(&config, &Space::single(1 << 30, 1), 3).unwrap();
    let mut out = Vec::new();
    for _ in 0..100_000 {
        app.step(&mut out);
    }
    let four = out.iter().filter(|c| c.bytes() == 4096).count();
    assert!(out.iter().all(|c| c.bytes() >= 4096));
    assert!((four as f64 / 1e5 - 0.77).abs() < 0.01);
}
