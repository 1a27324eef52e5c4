//! Saving and restoring what an adaptive device has learned.

use super::{Seen, Tuner};
use crate::device::Device;
use crate::state::DeviceState;
use serde::{Deserialize, Serialize};
use wafer_policies::Learned;
use wafer_separation::{AutoStream, Separator as _};

/// The observations, the miniatures with their maps, and what the device's policy has learned. Each miniature is packed
/// separately: none has miniatures itself, so a file cannot cause recursion.
#[derive(Serialize, Deserialize)]
struct Saved {
    seen: Seen,
    miniatures: Vec<Learned>,
    streams: Option<AutoStream>,
    policy: Option<Learned>,
}

impl Tuner {
    /// Returns what was learned, including `policy` of the device.
    pub(crate) fn save(&self, miniatures: &[Device], policy: Option<Learned>) -> Learned {
        let pack = |device: &Device| Learned::pack(&(device.state(), device.map_bytes()));
        let miniatures = miniatures.iter().map(pack).collect();
        let (seen, streams) = (self.seen.clone(), self.streams.clone());
        Learned::pack(&Saved { seen, miniatures, streams, policy })
    }

    /// Continues from a saved state, and returns what the policy of the device had learned.
    ///
    /// # Errors
    /// The state is impossible for a device of these sizes.
    pub(crate) fn resume(
        &mut self,
        ours: &mut [Device],
        learned: Option<&Learned>,
        now: u64,
    ) -> Result<Option<Learned>, String> {
        let learned = learned.ok_or("what the policy had learned is missing")?;
        let Saved { seen, miniatures, streams, policy } = learned.unpack()?;
        let count = self.arrangements.len();
        let known = usize::from(seen.current) < count && (0.0..super::ENOUGH).contains(&seen.lead);
        let last = seen.changes.last().is_some_and(|(_, to)| *to == seen.current);
        let valid = seen.changes.iter().all(|(_, to)| usize::from(*to) < count);
        let changed = last && valid && seen.changes.is_sorted_by_key(|(at, _)| *at);
        let counted = [seen.relocated.len(), seen.before.len(), seen.guard.relocated.len()]
            .iter()
            .all(|length| *length == count);
        if !known || !changed || !counted || miniatures.len() != count {
            return Err(format!("other than {count} arrangements"));
        }
        for (miniature, saved) in ours.iter_mut().zip(miniatures) {
            let (state, map): (DeviceState, Vec<u8>) = saved.unpack()?;
            let fill = |target: &mut [u8]| {
                if target.len() != map.len() {
                    return Err(format!("{} bytes, not {}", map.len(), target.len()));
                }
                target.copy_from_slice(&map);
                Ok(())
            };
            miniature.resume(state, fill).map_err(|error| format!("miniature: {error}"))?;
        }
        let all = ours.iter().map(Device::counters);
        let past =
            all.zip(seen.before.iter().zip(&seen.guard.relocated)).all(|(now, (look, check))| {
                *look.max(check) <= now.relocated_pages
                    && seen.looked.max(seen.guard.host).max(seen.guard.checked) <= now.host_pages
            });
        let count = |count: &f64| count.is_finite() && *count >= 0.0;
        if !past || !count(&seen.written) || !seen.relocated.iter().all(count) {
            return Err("counts that no look can have seen".to_owned());
        }
        match (&mut self.streams, streams) {
            (Some(own), Some(saved)) => own.resume(saved, now)?,
            (None, None) => {}
            _ => return Err("streams of other arrangements".to_owned()),
        }
        self.seen = seen;
        Ok(policy)
    }
}
