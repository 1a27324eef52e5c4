//! `wafer devices`

use wafer_lab::config::{DeviceSummary, profiles};
use wafer_lab::load_device;

use crate::args::ListArgs;
use crate::output;
use crate::output::{Align, Table};

pub(crate) fn run(args: &ListArgs) -> anyhow::Result<()> {
    let devices = profiles()
        .iter()
        .map(|profile| Ok(load_device(&profile.name, &[])?.summary()))
        .collect::<anyhow::Result<Vec<DeviceSummary>>>()?;
    if args.json {
        return output::json(&devices);
    }
    let mut table = Table::new(&[
        ("device", Align::Left),
        ("capacity", Align::Right),
        ("RUs", Align::Right),
        ("RU size", Align::Right),
        ("OP", Align::Right),
        ("handles", Align::Right),
        ("isolation", Align::Left),
        ("memory", Align::Right),
        ("description", Align::Left),
    ]);
    for device in devices {
        table.row([
            device.name,
            output::exact(device.capacity),
            device.reclaim_unit_count.to_string(),
            output::exact(device.reclaim_unit_size),
            format!("{:.1} %", 100.0 * device.overprovisioning),
            device.handles.to_string(),
            device.isolation,
            output::bytes(device.memory_bytes),
            device.description,
        ]);
    }
    table.print(&mut output::styled())?;
    Ok(())
}
