//! Runs the same experiment on a device with smaller reclaim units.
//!
//! Write amplification hardly depends on the number of pages in a reclaim unit if that is large. Scaling
//! keeps the number of reclaim units, and with it over-provisioning, thresholds and open units. Capacity
//! and namespaces shrink with the reclaim unit. Commands, records, write blocks and files keep their size.
//! So does the device of a trace, because the addresses in the trace are those of a device of that size.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use wafer_config::ConfigError;

use wafer_config::ResolvedDevice;
use wafer_interface::Bytes;
use wafer_lab::{Experiment, LabError};
use wafer_record::Volume;
use wafer_record::files::read_text;

/// The size of devices. Text form: `full`, or the pages of a scaled reclaim unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Real capacities.
    Full,
    /// Reclaim units of at most this many pages.
    Pages(u32),
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "full" => Ok(Scale::Full),
            number => match number.parse() {
                Ok(pages @ 256..=16_777_216) => Ok(Scale::Pages(pages)),
                _ => Err(format!(
                    "`{number}` is not a scale; write full, or the pages of a scaled reclaim unit, \
                     256 to 16777216"
                )),
            },
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scale::Full => f.write_str("full"),
            Scale::Pages(pages) => write!(f, "{pages}"),
        }
    }
}

impl Scale {
    /// Scales an experiment. Scaled tables of shares and of reference curves are written to `folder`.
    ///
    /// # Errors
    /// If the scaled device is impossible, or a table cannot be read or written.
    pub fn apply(self, mut experiment: Experiment, folder: &Path) -> Result<Experiment, LabError> {
        let geometry = &experiment.device.geometry;
        let Scale::Pages(pages) = self else { return Ok(experiment) };
        if pages >= geometry.pages_per_ru || experiment.workload.kind() == "trace" {
            return Ok(experiment);
        }
        let whole = geometry.pages_per_ru;
        let factor = f64::from(pages) / f64::from(whole);
        experiment.device = scaled_device(&experiment.device, pages, factor)?;
        if let Some(Volume::Bytes(Bytes(bytes))) = &mut experiment.volume {
            *bytes = (*bytes as f64 * factor) as u64;
        }
        for table in [&mut experiment.pace_from, &mut experiment.compare].into_iter().flatten() {
            let text = read_text(table)?;
            // A table in multiples of the capacity is valid at any scale.
            if !text.contains("host_bytes") {
                continue;
            }
            // Named by the factor: experiments with other reclaim units use the same table.
            let stem = table.file_stem().unwrap_or_default().to_string_lossy();
            let scaled = folder.join(format!("{stem}-{pages}-of-{whole}.csv"));
            let failed = |source| ConfigError::io(scaled.clone(), source);
            std::fs::create_dir_all(folder).map_err(failed)?;
            std::fs::write(&scaled, scaled_table(&text, factor)).map_err(failed)?;
            *table = scaled;
        }
        Ok(experiment)
    }
}

fn scaled_device(
    device: &ResolvedDevice,
    pages: u32,
    factor: f64,
) -> Result<ResolvedDevice, LabError> {
    let geometry = &device.geometry;
    let page = geometry.page_bytes;
    let scaled = |bytes: u64| Bytes((bytes as f64 / page as f64 * factor) as u64 * page);
    let mut config = device.config.clone();
    config.capacity = scaled(config.capacity.0);
    config.reclaim_unit.size = Bytes(u64::from(pages) * page);
    config.reclaim_unit.count = Some(u64::from(geometry.ru_count));
    config.overprovisioning = None;
    for namespace in &mut config.namespaces {
        namespace.size = scaled(namespace.size.0);
    }
    let (geometry, layout) = config.resolve().map_err(|e| {
        let place = format!("{} at scale {pages}: {}", device.name, e.key);
        LabError::config(place, e.message)
    })?;
    Ok(ResolvedDevice { config, geometry, layout, ..device.clone() })
}

/// Returns a table with its byte counts multiplied; lines that are not rows are unchanged.
fn scaled_table(text: &str, factor: f64) -> String {
    let row = |line: &str| -> Option<String> {
        let cells: Option<Vec<String>> = line
            .split(',')
            .map(|cell| {
                let bytes: u64 = cell.trim().parse().ok()?;
                Some(((bytes as f64 * factor) as u64).to_string())
            })
            .collect();
        Some(cells?.join(","))
    };
    let lines = text.lines().map(|line| row(line).unwrap_or_else(|| line.to_owned()) + "\n");
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_round_trip() {
        for text in ["full", "2048"] {
            assert_eq!(text.parse::<Scale>().unwrap().to_string(), text);
        }
        for text in ["", "1", "0", "-4", "x16", "2048.5"] {
            assert!(text.parse::<Scale>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_scaled_device_keeps_its_units_and_thresholds() {
        for name in ["warp", "drive-a", "xd8", "micron-7450"] {
            let device = wafer_config::load_device(name, &[]).unwrap();
            let factor = 512.0 / f64::from(device.geometry.pages_per_ru);
            let small = scaled_device(&device, 512, factor).unwrap();
            let (a, b) = (&device.geometry, &small.geometry);
            assert_eq!((a.ru_count, b.pages_per_ru), (b.ru_count, 512), "{name}");
            assert_eq!(a.forced_free(a.ru_count), b.forced_free(b.ru_count), "{name}");
            let difference = device.overprovisioning() - small.overprovisioning();
            assert!(difference.abs() < 1e-4, "{name}: {difference}");
            assert_eq!(device.config.namespaces.len(), small.config.namespaces.len());
        }
    }

    #[test]
    fn one_table_scales_for_each_reclaim_unit() {
        let folder = tempfile::tempdir().unwrap();
        let map = Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../configs/experiments/warp/map.toml"
        ));
        let scaled = |size: &str, count: &str| {
            let set =
                vec![format!("reclaim_unit.size={size}"), format!("reclaim_unit.count={count}")];
            let options = wafer_lab::Options { set, ..Default::default() };
            let experiment = Experiment::from_file(map, &options).unwrap();
            let scaled = Scale::Pages(2048).apply(experiment, folder.path()).unwrap();
            scaled.pace_from.unwrap()
        };
        let last = |path: &Path| {
            let text = read_text(path).unwrap();
            text.lines().last().unwrap().split(',').next().unwrap().parse::<u64>().unwrap()
        };
        let (large, small) = (scaled("256MiB", "985"), scaled("128MiB", "1971"));
        assert!(last(&large).abs_diff(last(&small) / 2) <= 1);
    }

    #[test]
    fn the_device_of_a_trace_is_not_scaled() {
        let file = Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../configs/experiments/warp/f2fs-captured-fdp.toml"
        ));
        let whole = Experiment::from_file(file, &wafer_lab::Options::default()).unwrap();
        let (pages, bytes) =
            (whole.device.geometry.pages_per_ru, whole.device.geometry.logical_pages);
        let scaled = Scale::Pages(256).apply(whole, Path::new("")).unwrap();
        assert_eq!((scaled.device.geometry.pages_per_ru, pages), (1024, 1024));
        assert_eq!(scaled.device.geometry.logical_pages, bytes);
    }

    #[test]
    fn tables_keep_what_is_no_row() {
        let text = "# source = \"a, b\"\nhost_bytes,x\n0,0\n1000,250\n";
        assert_eq!(scaled_table(text, 0.5), "# source = \"a, b\"\nhost_bytes,x\n0,0\n500,125\n");
    }
}
