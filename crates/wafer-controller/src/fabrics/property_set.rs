//! Property Set: only the controller configuration can be set.

use std::sync::atomic::Ordering;

use wafer_nvme::{Cc, Property, PropertyCommand, Status, location};

use super::{Controller, Failure, Kind, Reply};

pub(super) struct PropertySet {
    cc: Cc,
}

impl PropertySet {
    pub(super) fn parse(command: &PropertyCommand) -> Result<Self, Failure> {
        if Property(command.offset.get()) != Property::CC || command.attrib & 7 != 0 {
            return Err(location!(PropertyCommand, offset).into());
        }
        Ok(PropertySet { cc: Cc::from_bits(command.value.get() as u32) })
    }

    pub(super) fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let cc = self.cc;
        if cc.shn() != 0 && controller.kind == Kind::Io && !controller.state().shutdown {
            // A host may cut the power once the shutdown is complete.
            let flushed = controller.subsystem.drive.flush(controller.host, None);
            flushed.map_err(|_| Status::INTERNAL_ERROR)?;
        }
        let mut state = controller.state();
        if cc.en() && !state.cc.en() {
            let entries = (cc.iosqes(), cc.iocqes());
            let sizes_differ =
                controller.kind == Kind::Io && entries != (6, 4) && entries != (0, 0);
            if cc.mps() != 0 || cc.ams() != 0 || !matches!(cc.css(), 0 | 6) || sizes_differ {
                return Err(location!(PropertyCommand, value).into());
            }
        }
        let before = std::mem::replace(&mut state.cc, cc);
        if cc.shn() != 0 {
            state.shutdown = true;
        }
        if before.en() && !cc.en() {
            // A controller level reset discards outstanding commands and resets features (Base 2.1, 3.7.2).
            state.shutdown = false;
            controller.resets.fetch_add(1, Ordering::AcqRel);
            state.async_config = Default::default();
            state.async_requests.clear();
            state.aborted.clear();
            state.errors.clear();
            state.kept_features.clear();
            state.error_recovery.clear();
            controller.dulbe.store(false, Ordering::Release);
            state.events = Default::default();
            state.persistent_log = None;
            state.notifications = Default::default();
            state.reservation_masks.clear();
            state.thresholds = Default::default();
            state.events.warnings_due = controller.subsystem.warnings(state.thresholds);
            state.write_cache = true;
            state.host_behavior = Default::default();
        }
        drop(state);
        if before.en() && !cc.en() {
            controller.subsystem.drive.reset_self_test(controller.cntlid);
            controller.subsystem.end_streams(controller);
            if controller.kind == Kind::Io {
                // A drive that cannot be saved reports that elsewhere, and keeps its running firmware.
                let _ = controller.subsystem.drive.reset_firmware();
            }
            controller.subsystem.log_reset(controller.cntlid);
        }
        Ok(Reply::default())
    }
}
