use super::*;

fn int(text: &str) -> Option<i128> {
    evaluate(text, false).and_then(|(v, _)| v.truncate())
}

#[test]
fn precedences_are_those_of_fio() {
    for (text, value) in [
        ("(1024*4)", 4096),
        ("(4*1024*1024*1024)", 1 << 32),
        ("(10/3k)", 3 << 10),
        ("(1+2k)", 2049),
        ("(2^3^2)", 512),
        ("(-2^2)", 4),
        ("(7%4*2)", 6),
        ("(8-4-2)", 2),
        ("( 1.5 * 2k )", 3072),
        ("(4)k", 4096),
        ("(0x10+1e1)", 26),
        ("(1kib)", 1000),
        ("(2m)", 2 << 20),
    ] {
        assert_eq!(int(text), Some(value), "{text}");
    }
    assert_eq!(evaluate("(2m)", true), Some((Number::Int(120_000_000), true)));
    assert_eq!(evaluate("(2*30)", true), Some((Number::Int(60), false)));
}

#[test]
fn what_is_no_expression_is_none() {
    for text in [
        "(",
        "()",
        "(1",
        "(1))",
        "(1+)",
        "(1/0)",
        "(1%0)",
        "(1.5%2)",
        "(4ki)",
        "(1.5k)",
        "(1tib)",
        "(2^1000)",
        "(1e400)",
        "(é)",
        "(1 2)",
        "(9^99999999999999999999)",
    ] {
        assert_eq!(int(text), None, "{text}");
    }
    assert_eq!(int(&"(".repeat(100_000)), None);
    assert_eq!(int(&format!("({}1)", "-".repeat(100_000))), None);
}
