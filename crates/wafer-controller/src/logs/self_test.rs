//! Device Self-test.

use wafer_drive::SelfTestResult;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{Lid, SelfTestEntry, SelfTestLog, SelfTestOutcome, Status};

use super::Page;

pub(super) const PAGE: Page = Page {
    lid: Lid::SELF_TEST,
    read: |controller, _| {
        let drive = &controller.subsystem.drive;
        let mut log = SelfTestLog::default();
        if let Some((code, percent)) = drive.running_self_test() {
            (log.current, log.completion) = (code.0, percent);
        }
        let results = drive.self_test_results();
        let unused = SelfTestEntry { status: SelfTestOutcome::UNUSED.0, ..Default::default() };
        let filled = results.iter().map(entry).chain(std::iter::repeat(unused));
        for (slot, entry) in log.results.iter_mut().zip(filled) {
            *slot = entry;
        }
        Ok(log.as_bytes().to_vec())
    },
};

/// Valid Diagnostic Information: namespace, logical block and status.
const UNREADABLE: u8 = 0b1111;

fn entry(result: &SelfTestResult) -> SelfTestEntry {
    let mut entry = SelfTestEntry {
        status: result.code << 4 | result.outcome,
        segment: result.segment,
        power_on_hours: result.power_on_hours.into(),
        ..Default::default()
    };
    if let Some((nsid, lba)) = result.unreadable {
        let status = Status::UNRECOVERED_READ_ERROR;
        entry.valid = UNREADABLE;
        entry.nsid = nsid.into();
        entry.lba = lba.into();
        (entry.sct, entry.sc) = (status.code_type(), status.code());
    }
    entry
}
