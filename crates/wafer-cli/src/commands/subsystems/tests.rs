//! Valid and invalid tables of subsystems.

use super::*;

fn of_text(text: &str) -> Result<Vec<Spec>, ConfigError> {
    of_tables(&tables::parse("s.toml", text, "subsystem", NONE)?)
}

#[test]
fn each_table_is_a_subsystem() {
    let specs = of_text(
        "[[subsystem]]\ndevice = \"warp\"\nset = [\"gc.policy=fifo\"]\ndata = \"file:a.img\"\n\
         nqn = \"nqn.a:a\"\nlba = 512\ninvalid_placement = \"error\"\n\n[[subsystem]]\ndevice = \"pm9d3\"\n",
    );
    let specs = specs.unwrap();
    let (first, second) = (&specs[0], &specs[1]);
    let error = |spec: &Spec, key| spec.error(key, LabError::config("--x", "no")).to_string();
    assert_eq!(
        (first.device.as_str(), error(first, "data")),
        ("warp", "s.toml:4: data: --x: no".to_owned())
    );
    assert_eq!((first.set[0].as_str(), first.lba), ("gc.policy=fifo", Some(512)));
    assert_eq!(first.data.to_string(), "file:a.img");
    assert!(first.refuse_invalid_placement && !second.refuse_invalid_placement);
    assert_eq!(
        (error(second, "device"), second.data.to_string()),
        ("s.toml:10: device: --x: no".into(), "memory".into())
    );
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (text, place, words) in [
        ("", "s.toml: ", "no subsystems"),
        ("[[subsystem]]\nnqn = \"nqn.a\"\n", "s.toml:1: device: ", "missing"),
        (
            "[[subsystem]]\ndevice = \"warp\"\ndatta = \"none\"\n",
            "s.toml:3: datta: ",
            "did you mean `data`?",
        ),
        ("[[subsystem]]\ndevice = \"warp\"\ndata = \"disk\"\n", "s.toml:3: data: ", ""),
        ("[[subsystem]]\ndevice = \"warp\"\nlba = 1024\n", "s.toml:3: lba: ", "512 or 4096"),
        ("[[subsystem]]\ndevice = \"warp\"\nnqn = \"a\"\n", "s.toml:3: nqn: ", "begins with"),
        ("[[subsystem]]\ndevice = \"warp\"\nserial = \"\"\n", "s.toml:3: serial: ", "20 ASCII"),
        (
            "[[subsystem]]\ndevice = \"warp\"\nnqn = \"nqn.a\"\n[[subsystem]]\ndevice = \"warp\"\nnqn = \"nqn.a\"\n",
            "s.toml:6: nqn: ",
            "another",
        ),
        ("[[subsystem]]\ndevice = 1\n", "s.toml:2: device: ", "string"),
    ] {
        let error = of_text(text).err().expect("it is wrong").to_string();
        assert!(error.starts_with(place) && error.contains(words), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}
