//! The tables of what the target supports.

use wafer_controller::support_matrix;

#[test]
fn the_matrix_names_what_is_supported() {
    let matrix = support_matrix(wafer_io::SUPPORTED);
    for line in [
        "| 0x80 | Format NVM | yes | Base 2.1, 5.1.10 | one or all | none |",
        "| 0x84 | Sanitize | yes | Base 2.1, 5.1.22 | none | none |",
        "| 0x19 | Copy | yes | NVM 1.1, chapter 3 | one | from host |",
        "| 0x22 | FDP Statistics | yes | endurance group |",
        "| 0x06 | Device Self-test | yes | subsystem |",
        "| 0x1d | Flexible Data Placement | yes | endurance group |",
    ] {
        assert!(matrix.lines().any(|l| l == line), "{line}\n{matrix}");
    }
}
