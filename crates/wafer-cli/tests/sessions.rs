//! The command line as users see it. Each file of `cmd` is a session; files of `bad` are broken
//! on purpose.

#[test]
fn sessions() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
