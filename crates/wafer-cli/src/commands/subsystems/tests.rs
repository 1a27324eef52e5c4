//! Tables of subsystems, and what is wrong with some.

use super::*;

fn of_text(text: &str) -> Result<Vec<Spec>, (usize, String)> {
    let line = |at| tables::line(text, at);
    parse(text, |at| line(at).to_string()).map_err(|(at, reason)| (line(at), reason))
}

#[test]
fn each_table_is_a_subsystem() {
    let specs = of_text(
        "[[subsystem]]\ndevice = \"warp\"\nset = [\"gc.policy=fifo\"]\ndata = \"file:a.img\"\n\
         nqn = \"nqn.a:a\"\nlba = 512\ninvalid_placement = \"error\"\n\n[[subsystem]]\ndevice = \"pm9d3\"\n",
    );
    let specs = specs.unwrap();
    let (first, second) = (&specs[0], &specs[1]);
    assert_eq!((first.device.as_str(), first.place.as_deref()), ("warp", Some("2")));
    assert_eq!((first.set[0].as_str(), first.lba), ("gc.policy=fifo", Some(512)));
    assert_eq!(first.data.to_string(), "file:a.img");
    assert!(first.refuse_invalid_placement && !second.refuse_invalid_placement);
    assert_eq!((second.place.as_deref(), second.data.to_string()), (Some("10"), "memory".into()));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (text, line, words) in [
        ("", 1, "no subsystems"),
        ("[[subsystem]]\nnqn = \"nqn.a\"\n", 1, "device"),
        ("[[subsystem]]\ndevice = \"warp\"\ndatta = \"none\"\n", 3, "datta"),
        ("[[subsystem]]\ndevice = \"warp\"\ndata = \"disk\"\n", 3, "`data`"),
        ("[[subsystem]]\ndevice = \"warp\"\nlba = 1024\n", 3, "`lba`"),
        ("[[subsystem]]\ndevice = \"warp\"\nnqn = \"a\"\n", 3, "`nqn`"),
        ("[[subsystem]]\ndevice = \"warp\"\nserial = \"\"\n", 3, "`serial`"),
        ("[[subsystem]]\ndevice = 1\n", 2, "string"),
    ] {
        let (at, reason) = of_text(text).err().expect("it is wrong");
        assert_eq!(at, line, "{text}: {reason}");
        assert!(reason.contains(words) && !reason.contains('\n'), "{reason}");
    }
}
