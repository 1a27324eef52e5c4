use super::*;

const NAMESPACE: u64 = 1 << 30;

fn of(change: impl Fn(&mut Settings), instance: u32) -> Result<(u64, u64, u64), Blame> {
    let mut settings = Settings::of_fio();
    change(&mut settings);
    let blocks = Blocks { smallest: 4096, used: 4096, only: Some(4096) };
    region(&settings, instance, NAMESPACE, &blocks).map(|r| (r.offset, r.size, r.io_size))
}

#[test]
fn whole_namespace_by_default() {
    assert_eq!(of(|_| (), 0), Ok((0, NAMESPACE, NAMESPACE)));
    assert_eq!(of(|s| s.size = Some(Amount::Bytes(0)), 0), Ok((0, NAMESPACE, NAMESPACE)));
    let half = NAMESPACE / 2;
    assert_eq!(of(|s| s.offset = Amount::Bytes(half), 0), Ok((half, half, half)));
}

#[test]
fn percentages_round_the_offset_up_and_the_size_down() {
    // 10 % is 107374182.4, 26214.4 blocks.
    let tenth = |s: &mut Settings| {
        s.offset = Amount::Percent(10);
        s.size = Some(Amount::Percent(10));
    };
    assert_eq!(of(tenth, 0), Ok((26215 * 4096, 26214 * 4096, 26214 * 4096)));
    let align = |s: &mut Settings| {
        tenth(s);
        s.offset_align = Some(1 << 20);
    };
    assert_eq!(of(align, 0).map(|r| r.0), Ok(103 << 20));
    let last = |s: &mut Settings| {
        s.offset = Amount::Percent(90);
        s.size = Some(Amount::Percent(50));
    };
    let start = 235_930 * 4096;
    assert_eq!(of(last, 0).map(|r| (r.0, r.0 + r.1)), Ok((start, NAMESPACE)));
}

#[test]
fn regions_are_whole_blocks() {
    let set = |order, offset| {
        move |s: &mut Settings| {
            s.order = order;
            s.offset = Amount::Bytes(offset);
            s.size = Some(Amount::Bytes(10_000));
        }
    };
    assert_eq!(of(set(Order::Sequential, 0), 0), Ok((0, 12288, 12288)));
    assert_eq!(of(set(Order::Random, 0), 0), Ok((0, 8192, 8192)));
    let end = NAMESPACE - 10_000;
    assert_eq!(of(set(Order::Sequential, end), 0), Ok((end, 8192, 8192)));
}

#[test]
fn clones_are_apart_by_the_increment() {
    let set = |s: &mut Settings| {
        s.offset_increment = Amount::Bytes(1 << 20);
        s.size = Some(Amount::Bytes(1 << 20));
    };
    assert_eq!(of(set, 3), Ok((3 << 20, 1 << 20, 1 << 20)));
    assert_eq!(of(set, 1024).unwrap_err().0, "offset_increment");
    assert_eq!(
        of(|s| s.offset_increment = Amount::Bytes(u64::MAX), u32::MAX).unwrap_err().0,
        "offset_increment"
    );
}

#[test]
fn what_reaches_behind_the_namespace() {
    let end = |order| {
        move |s: &mut Settings| {
            s.order = order;
            s.offset = Amount::Bytes(NAMESPACE - 8192);
            s.size = Some(Amount::Bytes(1 << 20));
        }
    };
    assert_eq!(of(end(Order::Sequential), 0), Ok((NAMESPACE - 8192, 8192, 8192)));
    assert_eq!(of(end(Order::Random), 0).unwrap_err().0, "size");
    assert_eq!(of(|s| s.size = Some(Amount::Bytes(NAMESPACE + 1)), 0).unwrap_err().0, "size");
    assert_eq!(of(|s| s.offset = Amount::Percent(100), 0).unwrap_err().0, "offset");
    assert_eq!(
        of(|s| s.filesize = Some((NAMESPACE * 2, NAMESPACE * 2)), 0).unwrap_err().0,
        "filesize"
    );
}

#[test]
fn filesize_is_the_region_and_size_then_limits_the_transfer() {
    let set = |s: &mut Settings| {
        s.filesize = Some((1 << 20, 1 << 20));
        s.size = Some(Amount::Bytes(4096));
        s.offset = Amount::Bytes(8192);
    };
    assert_eq!(of(set, 0), Ok((8192, (1 << 20) - 8192, 4096)));
    let io = |s: &mut Settings| s.io_size = Some(Amount::Percent(25));
    assert_eq!(of(io, 0), Ok((0, NAMESPACE, NAMESPACE / 4)));
    let more = |s: &mut Settings| s.io_size = Some(Amount::Bytes(NAMESPACE * 7));
    assert_eq!(of(more, 0), Ok((0, NAMESPACE, NAMESPACE * 7)));
}
