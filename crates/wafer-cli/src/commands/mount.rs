//! `wafer mount`

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use wafer_interface::CommandStream;
use wafer_lab::{LabError, PreconditionStream, load_device};
use wafer_mount::{MountOptions, mount};
use wafer_record::{HandleKey, Kind, Record, write_json};

use super::run::{CANCEL, cancel_on_ctrl_c};
use crate::args::MountArgs;
use crate::output;
use crate::output::{Align, Table};

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
    let precondition =
        PreconditionStream::new(&args.precondition.unwrap_or_default(), &resolved.geometry, 0);
    let mut stream = precondition.map(PreconditionStream::into_stream);
    let precondition = stream.as_mut().map(|s| s as &mut dyn CommandStream);
    let provenance = resolved.provenance(Kind::Drive, SystemTime::now());
    let mounted = mount(&args.folder, &resolved.config, precondition, &options, provenance)?;
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
    let record = mounted.unmount().context(args.folder.display().to_string())?;
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => output::json(&record),
        Some(path) => Ok(write_json(path, &record)?),
        None => print(&record),
    }
}

fn print(record: &Record) -> anyhow::Result<()> {
    let mut table =
        Table::new(&[("handle", Align::Right), ("host", Align::Right), ("media", Align::Right)]);
    for (key, series) in &record.timeline.handles {
        let end = |values: &[u64]| output::bytes(values.last().copied().unwrap_or(0));
        if *key != HandleKey::Gc {
            table.row([key.to_string(), end(&series.host_bytes), end(&series.media_bytes)]);
        }
    }
    let mut out = output::styled();
    std::io::Write::write_all(
        &mut out,
        format!(
            "host {}  media {}  erased {}  WAF {:.3}\n\n",
            output::bytes(record.summary.host_bytes),
            output::bytes(record.summary.media_bytes),
            output::bytes(record.summary.erased_bytes.unwrap_or(0)),
            record.summary.waf
        )
        .as_bytes(),
    )?;
    table.print(&mut out)?;
    Ok(())
}
