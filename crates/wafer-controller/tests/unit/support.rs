//! Every handler has a row in the support matrix.

use crate::support;

#[test]
fn every_handler_has_a_row() {
    let support = support(&[]);
    assert_eq!(support.admin_commands().count(), support.admin.len());
    assert_eq!(support.fabrics_commands().count(), support.fabrics.len());
    assert_eq!(support.log_pages().count(), support.log_pages.len());
    assert_eq!(support.features().count(), support.features.len());
}
