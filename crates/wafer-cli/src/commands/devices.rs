//! `wafer devices`

use serde::Serialize;
use wafer_calibrate::{Datasheet, Profile};
use wafer_config::load_device;
use wafer_config::{DeviceSummary, profiles};
use wafer_lab::LabError;
use wafer_record::{Outputs, write_text};

use crate::args::{DatasheetArgs, DevicesArgs, DevicesCommand};
use wafer_output as output;
use wafer_output::Table;

pub(crate) fn run(args: &DevicesArgs, quiet: bool) -> anyhow::Result<()> {
    match &args.command {
        None => list(args.json),
        Some(DevicesCommand::FromDatasheet(args)) => from_datasheet(args, quiet),
    }
}

fn list(json: bool) -> anyhow::Result<()> {
    let devices = profiles()
        .iter()
        .map(|profile| Ok(load_device(&profile.name, &[])?.summary()))
        .collect::<anyhow::Result<Vec<DeviceSummary>>>()?;
    if json {
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

fn from_datasheet(args: &DatasheetArgs, quiet: bool) -> anyhow::Result<()> {
    let to_stdout = output::is_stdout(&args.output);
    if args.json && to_stdout {
        return Err(LabError::config("--json", "stdout has the device of -o -").into());
    }
    Outputs::default().output_or_stdout(&args.output)?;
    let profile = Datasheet {
        capacity: args.capacity,
        seq_read: args.seq_read,
        seq_write: args.seq_write,
        rand_read: args.rand_read,
        rand_write: args.rand_write,
        read_latency: args.read_latency,
        write_latency: args.write_latency,
        dwpd: args.dwpd,
        power: args.power,
    }
    .profile()?;
    output::notices(quiet, &profile.notices);
    let text = profile.toml();
    if to_stdout {
        return output::text(&text);
    }
    write_text(&args.output, &text)?;
    if args.json {
        #[derive(Serialize)]
        struct Printed<'a> {
            file: &'a std::path::Path,
            #[serde(flatten)]
            profile: &'a Profile,
        }
        return output::json(&Printed { file: &args.output, profile: &profile });
    }
    let (low, high) = profile.effective_overprovisioning_range;
    output::notice(
        quiet,
        &format!(
            "{}: WAF {:.2} under random writes, effective over-provisioning {:.1} % ({:.1} to {:.1} %)",
            args.output.display(),
            profile.waf,
            100.0 * profile.effective_overprovisioning,
            100.0 * low,
            100.0 * high
        ),
    );
    Ok(())
}
