//! `wafer devices`

use wafer_lab::config::{DeviceSummary, profiles};
use wafer_lab::load_device;

use crate::args::ListArgs;
use crate::output;
use crate::output::Table;

pub(crate) fn run(args: &ListArgs) -> anyhow::Result<()> {
    let devices = profiles()
        .iter()
        .map(|profile| Ok(load_device(&profile.name, &[])?.summary()))
        .collect::<anyhow::Result<Vec<DeviceSummary>>>()?;
    if args.json {
        return output::json(&devices);
    }
    let mut table = Table::default()
        .text(["device"])
        .numbers(["capacity", "RUs", "RU size", "OP", "handles"])
        .text(["isolation"])
        .numbers(["memory"])
        .text(["description"]);
    for device in devices {
        table.row([
            device.name,
            output::exact(device.capacity),
            device.reclaim_unit_count.to_string(),
            output::exact(device.reclaim_unit_size),
            output::percent(device.overprovisioning),
            device.handles.to_string(),
            device.isolation,
            output::bytes(device.memory_bytes),
            device.description,
        ]);
    }
    table.print(&mut output::styled())?;
    Ok(())
}
