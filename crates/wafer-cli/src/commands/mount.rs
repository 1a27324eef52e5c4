//! `wafer mount`

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context as _;
use wafer_lab::{LabError, load_device, write_json};
use wafer_mount::{CountersReport, MountOptions, mount};
use wafer_workload::CommandStream;

use super::run::{CANCEL, cancel_on_ctrl_c};
use crate::args::MountArgs;
use crate::output::{self, Align, Table};

/// How soon an unmount or a signal is noticed.
const POLL: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &MountArgs, quiet: bool) -> anyhow::Result<()> {
    let missing = || LabError::config("--device", "missing; give a device");
    let name = args.device.device.as_deref().ok_or_else(missing)?;
    let resolved = load_device(name, &args.device.set)?;
    for notice in &resolved.notices {
        output::notice(quiet, notice);
    }
    cancel_on_ctrl_c()?;
    let options = MountOptions {
        data: args.data.clone(),
        record: args.record.clone(),
        lock_memory: args.lock_memory,
    };
    let mut stream = args.precondition.unwrap_or_default().stream(&resolved.geometry, 0);
    let precondition = stream.as_mut().map(|s| s as &mut dyn CommandStream);
    let mounted = mount(&args.folder, &resolved.config, precondition, &options)?;
    for notice in mounted.notices() {
        output::notice(quiet, notice);
    }
    let files: Vec<String> = (resolved.geometry.namespace_bytes().iter().enumerate())
        .map(|(i, bytes)| format!("nvme0n{} ({})", i + 1, output::exact(*bytes)))
        .collect();
    let folder = args.folder.display();
    output::notice(
        quiet,
        &format!("mounted on {folder}: {}; ends with umount or Ctrl-C", files.join(", ")),
    );
    while !mounted.is_unmounted() && !CANCEL.load(Ordering::Relaxed) {
        std::thread::sleep(POLL);
    }
    let counters = mounted.unmount().context(args.folder.display().to_string())?;
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => output::json(&counters),
        Some(path) => Ok(write_json(path, &counters)?),
        None => print(&counters),
    }
}

fn print(counters: &CountersReport) -> anyhow::Result<()> {
    let mut table =
        Table::new(&[("handle", Align::Right), ("host", Align::Right), ("media", Align::Right)]);
    for (number, handle) in counters.handles.iter().enumerate().filter(|(_, h)| h.host_bytes > 0) {
        let (host, media) = (output::bytes(handle.host_bytes), output::bytes(handle.media_bytes));
        table.row([number.to_string(), host, media]);
    }
    let mut out = output::styled();
    std::io::Write::write_all(
        &mut out,
        format!(
            "host {}  media {}  erased {}  WAF {:.3}\n\n",
            output::bytes(counters.host_bytes),
            output::bytes(counters.media_bytes),
            output::bytes(counters.erased_bytes),
            counters.waf
        )
        .as_bytes(),
    )?;
    table.print(&mut out)?;
    Ok(())
}
