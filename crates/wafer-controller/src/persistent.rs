//! Entries of the drive's persistent event log, in the layouts of `wafer_nvme`.

use wafer_drive::{FirmwareRevision, NO_CONTROLLER, hardware_error};
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    ChangeNamespaceEvent, ControllerResetInfo, CriticalWarning, FeatureInfo, Fid,
    FirmwareCommitEvent, FormatCompletionEvent, FormatStartEvent, HardwareErrorCode,
    PersistentEventType, PowerOnEvent, SanitizeCompletionEvent, SanitizeStartEvent, Scope,
    SetFeatureEvent, Status, StatusField, TelemetryLog, ThermalExcursionEvent, Timestamp,
    TimestampChangeEvent,
};

use super::features::Set;
use super::identify::{CRITICAL_TEMPERATURE, SANITIZE, WARNING_TEMPERATURE};
use super::logs::sanitize::status_field;
use super::{Controller, Subsystem};

/// Logged command dwords of Set Features: 10 to 15.
const FEATURE_DWORDS: u32 = 6;
/// Thresholds of Thermal Excursion.
const OVER_WARNING: u8 = 0x01;
const OVER_CRITICAL: u8 = 0x02;
const NORMAL: u8 = 0x88;

/// Returns a timestamp in the form that events use.
pub(super) fn stamp((milliseconds, attributes): (u64, u8)) -> u64 {
    Timestamp::new(milliseconds, attributes).raw()
}

impl Subsystem {
    fn log(&self, kind: PersistentEventType, controller: u16, data: &[u8]) {
        self.drive.log_persistent(kind, controller, data);
    }

    /// Logs the start of the subsystem, with a SMART snapshot.
    pub(super) fn log_power_on(&self) {
        self.log_reset(NO_CONTROLLER);
    }

    /// Logs the reset of a controller, with a SMART snapshot.
    pub(crate) fn log_reset(&self, cntlid: u16) {
        let head = PowerOnEvent { revision: self.drive.firmware().running() };
        let power_cycle = u32::try_from(self.drive.counters().life.power_cycles);
        let info = ControllerResetInfo {
            cntlid: cntlid.into(),
            power_cycle: power_cycle.unwrap_or(u32::MAX).into(),
            power_on: (self.drive.power_on().as_millis() as u64).into(),
            timestamp: stamp(self.drive.timestamp()).into(),
            ..Default::default()
        };
        let data = [head.as_bytes(), info.as_bytes()].concat();
        self.log(PersistentEventType::POWER_ON_OR_RESET, cntlid, &data);
        self.log_smart();
    }

    /// Logs a SMART snapshot.
    pub(super) fn log_smart(&self) {
        let warnings = self.warnings(Default::default());
        let smart = self.smart(warnings);
        self.log(PersistentEventType::SMART_SNAPSHOT, NO_CONTROLLER, smart.as_bytes());
    }

    /// Logs newly raised critical warnings.
    pub(super) fn log_warnings(&self, before: CriticalWarning, now: CriticalWarning) {
        if now.into_bits() & !before.into_bits() != 0 {
            let data = hardware_error(HardwareErrorCode::CRITICAL_WARNING, &[now.into_bits()]);
            self.log(PersistentEventType::HARDWARE_ERROR, NO_CONTROLLER, &data);
        }
    }

    /// Logs that the composite temperature passed a threshold of Identify Controller.
    pub(super) fn log_temperature(&self, (before, now): (u16, u16)) {
        let rose = |limit: u16| before < limit && now >= limit;
        let crossed = if rose(CRITICAL_TEMPERATURE) {
            (OVER_CRITICAL, CRITICAL_TEMPERATURE)
        } else if rose(WARNING_TEMPERATURE) {
            (OVER_WARNING, WARNING_TEMPERATURE)
        } else if before >= WARNING_TEMPERATURE && now < WARNING_TEMPERATURE {
            (NORMAL, WARNING_TEMPERATURE)
        } else {
            return;
        };
        let over_temperature = u8::try_from(now.abs_diff(crossed.1)).unwrap_or(u8::MAX);
        let event = ThermalExcursionEvent { over_temperature, threshold: crossed.0 };
        self.log(PersistentEventType::THERMAL_EXCURSION, NO_CONTROLLER, event.as_bytes());
    }

    /// Logs that telemetry was captured.
    pub(super) fn log_telemetry(&self, head: &TelemetryLog) {
        self.log(PersistentEventType::TELEMETRY_CREATED, NO_CONTROLLER, head.as_bytes());
    }

    /// Logs the end of a Sanitize operation.
    pub(super) fn log_sanitize_completion(&self) {
        let now = self.drive.sanitize_status();
        let event = SanitizeCompletionEvent {
            progress: now.progress.into(),
            status: status_field(&now).into_bits().into(),
            ..Default::default()
        };
        self.log(PersistentEventType::SANITIZE_COMPLETION, NO_CONTROLLER, event.as_bytes());
    }
}

impl Controller {
    fn log(&self, kind: PersistentEventType, data: &[u8]) {
        self.subsystem.drive.log_persistent(kind, self.cntlid, data);
    }

    /// Logs the outcome of Firmware Commit.
    pub(super) fn log_firmware_commit(
        &self,
        [old_revision, new_revision]: [FirmwareRevision; 2],
        action: u8,
        slot: u8,
        status: Status,
    ) {
        let event = FirmwareCommitEvent {
            old_revision,
            new_revision,
            action,
            slot,
            sct: status.code_type(),
            sc: status.code(),
            ..Default::default()
        };
        self.log(PersistentEventType::FIRMWARE_COMMIT, event.as_bytes());
    }

    /// Logs a feature that was set, unless its value ends with the controller: each host sets those when it connects.
    /// `before` is the previous value of the Timestamp feature.
    pub(super) fn log_set_feature(&self, info: &FeatureInfo, set: &Set<'_>, before: (u64, u8)) {
        if info.fid == Fid::TIMESTAMP {
            let since = self.subsystem.drive.power_on().as_millis() as u64;
            let (previous, since_reset) = (stamp(before).into(), since.into());
            let event = TimestampChangeEvent { previous, since_reset };
            return self.log(PersistentEventType::TIMESTAMP_CHANGE, event.as_bytes());
        }
        if info.scope == Scope::Controller && !set.save {
            return;
        }
        let sqe = set.sqe;
        let head = SetFeatureEvent { layout: FEATURE_DWORDS.into() };
        let dwords = [sqe.cdw10, sqe.cdw11, sqe.cdw12, sqe.cdw13, sqe.cdw14, sqe.cdw15];
        let data = [head.as_bytes(), dwords.as_bytes()].concat();
        self.log(PersistentEventType::SET_FEATURE, &data);
    }

    /// Logs the start of a Sanitize operation.
    pub(super) fn log_sanitize_start(&self, cdw10: u32) {
        let (sanicap, cdw10, cdw11) = (SANITIZE.into(), cdw10.into(), 0.into());
        let event = SanitizeStartEvent { sanicap, cdw10, cdw11 };
        self.log(PersistentEventType::SANITIZE_START, event.as_bytes());
    }

    /// Logs the start of Format NVM.
    pub(super) fn log_format_start(&self, nsid: u32, cdw10: u32) {
        let (nsid, cdw10) = (nsid.into(), cdw10.into());
        let event = FormatStartEvent { nsid, cdw10, ..Default::default() };
        self.log(PersistentEventType::FORMAT_START, event.as_bytes());
    }

    /// Logs the end of Format NVM.
    pub(super) fn log_format_completion(&self, nsid: u32, status: Status) {
        let field = StatusField::new().with_status(status.0).into_bits();
        let event = FormatCompletionEvent {
            nsid: nsid.into(),
            status: u8::from(!status.is_success()),
            status_field: u32::from(field).into(),
            ..Default::default()
        };
        self.log(PersistentEventType::FORMAT_COMPLETION, event.as_bytes());
    }

    /// Returns the event for creating or deleting a namespace; for all namespaces, only Select and NSID are set.
    pub(super) fn namespace_event(&self, select: u32, nsid: u32) -> ChangeNamespaceEvent {
        let namespace = self.subsystem.drive.namespace(nsid);
        let id = namespace.map(|found| self.identify_namespace(&found)).unwrap_or_default();
        ChangeNamespaceEvent::of(&id, select, nsid)
    }

    /// Logs that a namespace was created or deleted.
    pub(super) fn log_changed_namespace(&self, event: ChangeNamespaceEvent) {
        self.log(PersistentEventType::CHANGE_NAMESPACE, event.as_bytes());
    }
}
