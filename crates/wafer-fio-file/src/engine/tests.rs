use super::*;

#[test]
fn namespaces_of_file_names() {
    for (text, index) in [
        ("/dev/ng0n1", 0),
        ("/dev/ng0n2", 1),
        ("/dev/nvme12n7", 6),
        ("/dev/nvme0c3n2", 1),
        ("/dev/nvme0", 0),
        ("/dev/sda", 0),
        ("/tmp/data", 0),
        ("0000\\:01\\:00.0", 0),
        ("/dev/ng0n2:", 1),
    ] {
        assert_eq!(namespace(text), Ok(index), "{text}");
    }
    for text in ["", ":", "a:b", "/dev/nvme0n1p1", "/dev/nvme0n0", "/dev/nvme0n999", "/dev/nvme0n"]
    {
        assert!(namespace(text).is_err(), "{text}");
    }
}

#[test]
fn engines() {
    assert_eq!(engine("io_uring_cmd"), Ok(Engine::Asynchronous));
    assert_eq!(engine("psync"), Ok(Engine::Synchronous));
    assert_eq!(engine("external:/tmp/engine.so"), Ok(Engine::Asynchronous));
    assert!(engine("net").is_err());
    assert_eq!(
        engine("iouring"),
        Err("`iouring` is not an engine of fio; did you mean `io_uring`?".into())
    );
}
