//! Features with one number: a field of command dword 11, which Get Features returns in the lowest bits of dword 0.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wafer_drive::Drive;
use wafer_nvme::{Fid, Status};

use crate::{Ocp, POWER};

/// A feature.
pub struct Setting {
    /// Its identifier.
    pub fid: Fid,
    /// Lowest bit of its field in command dword 11.
    shift: u32,
    default: u16,
    is_valid: fn(u16) -> bool,
}

/// Selects a value of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The one in effect.
    Current,
    /// That of a new drive.
    Default,
    /// The saved one, or that of a new drive.
    Saved,
}

/// Behaviour at the end of life: once the drive has no spare left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureMode {
    /// Read only: writes fail.
    ReadOnly,
    /// Write through: writes are durable once they complete.
    WriteThrough,
    /// Unchanged.
    Normal,
}

impl Setting {
    /// EOL/PLP Failure Mode: 1 read only, 2 write through, 3 normal.
    pub const FAILURE_MODE: Setting = Setting {
        fid: Fid::OCP_FAILURE_MODE,
        shift: 30,
        default: 3,
        is_valid: |mode| (1..=3).contains(&mode),
    };
    /// PLP Health Check Interval in minutes. Without capacitors there is nothing to check.
    pub const HEALTH_CHECK: Setting =
        Setting { fid: Fid::OCP_HEALTH_CHECK, shift: 16, default: 15, is_valid: |_| true };
    /// DSSD Power State in watts.
    pub const POWER_STATE: Setting = Setting {
        fid: Fid::OCP_POWER_STATE,
        shift: 0,
        default: POWER as u16,
        is_valid: |watts| watts == POWER as u16,
    };
    const ALL: [Setting; 3] = [Self::FAILURE_MODE, Self::HEALTH_CHECK, Self::POWER_STATE];

    fn saved(&self, drive: &Drive) -> Option<u16> {
        let bytes = drive.saved_feature(self.fid.0)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?)).filter(|value| (self.is_valid)(*value))
    }
}

/// Values in effect, by identifier.
pub(crate) struct Settings(Mutex<BTreeMap<u8, u16>>);

impl Settings {
    /// Creates the settings saved with a drive.
    pub(crate) fn new(drive: &Drive) -> Self {
        let value = |setting: &Setting| setting.saved(drive).unwrap_or(setting.default);
        let values = Setting::ALL.iter().map(|setting| (setting.fid.0, value(setting)));
        Settings(Mutex::new(values.collect()))
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<u8, u16>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ocp {
    /// Returns a value of a feature.
    pub fn get(&self, drive: &Drive, setting: &Setting, which: Value) -> u16 {
        match which {
            Value::Current => self.settings.values().get(&setting.fid.0).copied(),
            Value::Default => None,
            Value::Saved => setting.saved(drive),
        }
        .unwrap_or(setting.default)
    }

    /// Sets a feature from command dword 11, and saves it if `save` is set.
    ///
    /// # Errors
    /// `INVALID_FIELD` for an invalid value, `WRITE_FAULT` if the drive cannot be saved.
    pub fn set(
        &self,
        drive: &Drive,
        setting: &Setting,
        cdw11: u32,
        save: bool,
    ) -> Result<(), Status> {
        let value = (cdw11 >> setting.shift) as u16;
        if !(setting.is_valid)(value) {
            return Err(Status::INVALID_FIELD);
        }
        if save {
            drive.save_feature(setting.fid.0, value.to_le_bytes().to_vec())?;
        }
        self.settings.values().insert(setting.fid.0, value);
        Ok(())
    }

    /// Returns the behaviour at the end of life.
    pub fn failure_mode(&self) -> FailureMode {
        match self.settings.values().get(&Setting::FAILURE_MODE.fid.0).copied().unwrap_or_default()
        {
            1 => FailureMode::ReadOnly,
            2 => FailureMode::WriteThrough,
            _ => FailureMode::Normal,
        }
    }
}
