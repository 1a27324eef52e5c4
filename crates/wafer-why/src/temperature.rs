//! Determines how often each part of the drive is written, and the handle for each temperature.

use std::collections::BTreeMap;

use wafer_device::Geometry;
use wafer_interface::{Batch, Command, LBA_BYTES, Op, Placement, StreamState};
use wafer_lab::Experiment;

use crate::error::WhyError;

/// Bytes of a part of the drive, to which a temperature applies.
const PART: u64 = 64 << 10;
/// Number of logical capacities of writes to examine.
const LOOK: f64 = 4.0;
/// A part is hot or cold if it is written this many times more or less often than the mean.
const APART: f64 = 2.0;
/// Minimum mean number of writes per part: with fewer, differences are due to chance.
const LEAST_WRITES: u64 = 16;
/// Number of temperatures per handle.
pub(crate) const CLASSES: u16 = 3;

/// The temperature of each part of each namespace, by how often it is written.
#[derive(Debug)]
pub(crate) struct Temperature {
    /// Class of each part by namespace: 0 is cold, 2 is hot.
    classes: Vec<Vec<u8>>,
    /// The written handles, ascending; each gets [`CLASSES`] handles of its own.
    pub(crate) handles: Vec<u16>,
    /// Share of each handle's bytes in commands that began where the previous one ended.
    sequential: Vec<f64>,
    /// Number of bytes written at least once.
    touched: u64,
}

/// The writes of a handle.
#[derive(Default)]
struct Written {
    bytes: u64,
    sequential: u64,
    /// End of the last command, by namespace.
    ends: BTreeMap<usize, u64>,
}

impl Temperature {
    /// Examines the writes of an experiment. `None` if there are none, or too few.
    pub(crate) fn of(experiment: &Experiment) -> Result<Option<Self>, WhyError> {
        let geometry = &experiment.device.geometry;
        let mut built = experiment.build()?;
        let sizes = geometry.namespace_bytes();
        let parts = sizes.iter().map(|bytes| bytes.div_ceil(PART) as usize);
        let mut counts: Vec<Vec<u32>> = parts.map(|parts| vec![0; parts]).collect();
        let mut handles: BTreeMap<u16, Written> = BTreeMap::new();
        let logical = experiment.device.logical_bytes();
        let most =
            experiment.volume_bytes().unwrap_or(u64::MAX).min((LOOK * logical as f64) as u64);
        let (mut seen, mut idle, mut writes) = (0, 0, 0u64);
        let mut batch = Batch::default();
        while seen < most && idle < 1 << 16 {
            batch.clear();
            let state = built.stream.next(&mut batch, 4096);
            idle += 1;
            for command in batch.commands.iter().filter(|command| command.op == Op::Write) {
                idle = 0;
                seen += command.bytes();
                let handle = handle_of(geometry, command);
                let written = handles.entry(handle).or_default();
                let end = written
                    .ends
                    .insert(command.namespace.index(), command.lba + u64::from(command.blocks));
                written.bytes += command.bytes();
                written.sequential += if end == Some(command.lba) { command.bytes() } else { 0 };
                let Some(counts) = counts.get_mut(command.namespace.index()) else { continue };
                let first = command.lba * LBA_BYTES / PART;
                let last = (command.lba * LBA_BYTES + command.bytes().max(1) - 1) / PART;
                writes += last - first + 1;
                for part in first..=last {
                    if let Some(count) = counts.get_mut(part as usize) {
                        *count = count.saturating_add(command.blocks);
                    }
                }
            }
            if state != StreamState::Ready {
                break;
            }
        }
        if handles.is_empty() {
            return Ok(None);
        }
        let written = counts.iter().flatten().filter(|count| **count > 0);
        let (parts, blocks) = written
            .fold((0u32, 0), |(parts, blocks), count| (parts + 1, blocks + u64::from(*count)));
        if writes < LEAST_WRITES * u64::from(parts) {
            return Ok(None);
        }
        let mean = blocks as f64 / f64::from(parts.max(1));
        let class = |count: u32| match f64::from(count) / mean {
            cold if cold < 1.0 / APART => 0,
            hot if hot > APART => 2,
            _ => 1,
        };
        let touched = u64::from(parts) * PART;
        let classes =
            counts.iter().map(|counts| counts.iter().map(|c| class(*c)).collect()).collect();
        let sequential =
            handles.values().map(|written| written.sequential as f64 / written.bytes.max(1) as f64);
        Ok(Some(Temperature {
            classes,
            sequential: sequential.collect(),
            handles: handles.into_keys().collect(),
            touched,
        }))
    }

    /// Returns the number of bytes written at least once.
    pub(crate) fn touched_bytes(&self) -> u64 {
        self.touched
    }

    /// Returns the share of a handle's bytes in commands that began where the previous one ended.
    pub(crate) fn sequential_share(&self, handle: u16) -> f64 {
        let at = self.handles.binary_search(&handle);
        at.ok().and_then(|at| self.sequential.get(at)).copied().unwrap_or(0.0)
    }

    /// Returns the placement of a write through a handle.
    pub(crate) fn placement(&self, handle: u16, command: &Command) -> Placement {
        let rank = self.handles.binary_search(&handle).unwrap_or(0) as u16;
        let part = (command.lba * LBA_BYTES / PART) as usize;
        let classes = self.classes.get(command.namespace.index());
        let class = classes.and_then(|classes| classes.get(part)).copied().unwrap_or(0);
        Placement(rank * CLASSES + u16::from(class))
    }
}

/// Returns the handle of a write.
pub(crate) fn handle_of(geometry: &Geometry, command: &Command) -> u16 {
    geometry.handle(command.namespace, command.placement).map_or(0, |handle| handle.0)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wafer_lab::Options;

    use super::*;

    /// Of a few uniform writes, some hit the same part twice and miss others by chance.
    #[test]
    fn few_writes_have_no_temperature() {
        let is_told = |volume: &str| {
            let text = format!(
                "volume = \"{volume}\"\n[device]\ncapacity = \"256MiB\"\nreclaim_unit = {{ size = \"1MiB\" }}\n\
                 overprovisioning = 0.2\n[workload]\nfio_text = '''\n[job]\nrw=randwrite\nbs=4k\n'''\n"
            );
            let experiment =
                Experiment::from_text(Path::new("t.toml"), &text, &Options::default()).unwrap();
            Temperature::of(&experiment).unwrap().is_some()
        };
        assert_eq!(["3MiB", "128MiB", "2x"].map(is_told), [false, false, true]);
    }
}
