//! `wafer mount`

use std::io::Write as _;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use wafer_config::load_device;
use wafer_interface::CommandStream;
use wafer_lab::LabError;
use wafer_mount::{MountError, MountOptions, mount};
use wafer_record::{HandleKey, Kind, Outputs, Record};

use super::drive_files;
use crate::args::MountArgs;
use crate::cancel::{cancel_on_ctrl_c, is_cancelled};
use crate::progress::Steps;
use wafer_output as output;
use wafer_output::Table;

/// Interval for checking for an unmount or a signal.
const POLL: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &MountArgs, quiet: bool) -> anyhow::Result<()> {
    let resolved = load_device(&args.device.device, &args.device.set)?;
    let json = args.json.clone().filter(|path| !output::is_stdout(path));
    let outputs = args.record.clone().into_iter().chain(json);
    let mut all = Outputs::default();
    drive_files::claim(&mut all, &args.device.device, &args.data, outputs)?;
    output::notices(quiet, &resolved.notices);
    crate::log::to_stderr(quiet);
    cancel_on_ctrl_c()?;
    let options = MountOptions {
        data: args.data.clone(),
        record: args.record.clone(),
        time: args.time,
        lock_memory: args.lock_memory,
    };
    let mut filling = drive_files::filling(args.precondition, &resolved, 0)?;
    let bytes = filling.as_ref().map_or(0, |(_, bytes)| *bytes);
    let precondition = filling.as_mut().map(|(stream, _)| stream as &mut dyn CommandStream);
    let bar = Steps::new("preconditioning", quiet);
    let progress = |written| {
        bar.update(written, bytes);
        !is_cancelled()
    };
    let provenance = wafer_lab::provenance(&resolved, Kind::Drive, SystemTime::now());
    let replaced = args.record.as_deref().and_then(drive_files::replaced);
    let mounted =
        mount(&args.folder, &resolved.config, precondition, progress, &options, provenance);
    bar.finish();
    let mounted = mounted.map_err(usage)?;
    output::notices(quiet, replaced);
    output::notices(quiet, mounted.notices());
    let files: Vec<String> = (resolved.geometry.namespace_bytes().iter().enumerate())
        .map(|(i, bytes)| format!("nvme0n{} ({})", i + 1, output::exact(*bytes)))
        .collect();
    let folder = args.folder.display();
    output::notice(
        quiet,
        &format!("mounted on {folder}: {}; ends with umount or Ctrl-C", files.join(", ")),
    );
    let mut failure = None;
    while !mounted.is_unmounted() && !is_cancelled() {
        std::thread::sleep(POLL);
        if failure.is_none() {
            failure = mounted.failure();
            failure.iter().for_each(|failure| output::warning(&format!("{folder}: {failure}")));
        }
    }
    if mounted.detach() {
        let wait = "files are still open: waits until they are closed; Ctrl-C again ends like a power failure";
        output::notice(quiet, &format!("{folder}: {wait}"));
    }
    if mounted.is_covered() {
        output::warning(&format!(
            "{folder}: another file system is mounted over the drive: unmount both, the drive has ended"
        ));
    }
    // Print the counters even if some commands could not be recorded.
    let (record, ended) = mounted.unmount();
    let told = match &args.json {
        Some(path) => output::json_to(path, &record),
        None => print(&record),
    };
    ended.context(args.folder.display().to_string())?;
    told
}

/// Converts a mount failure into an error of the arguments.
fn usage(error: MountError) -> LabError {
    match error {
        MountError::Mount { path, source } => {
            LabError::config(path.display().to_string(), source.to_string())
        }
        MountError::Drive(error) => drive_files::usage(error),
        MountError::Time(_) => LabError::config("--time", error.to_string()),
        MountError::Incomplete(_) => LabError::Run(error.to_string()),
    }
}

fn print(record: &Record) -> anyhow::Result<()> {
    let mut out = output::styled();
    let summary = &record.summary;
    writeln!(
        out,
        "host {}  media {}  erased {}  WAF {:.3}\n",
        output::bytes(summary.host_bytes),
        output::bytes(summary.media_bytes),
        output::bytes(summary.erased_bytes.unwrap_or(0)),
        summary.waf
    )?;
    let mut table = Table::default().numbers(["handle", "host", "media"]);
    for (key, series) in record.timeline.handles.iter().filter(|(key, _)| **key != HandleKey::Gc) {
        let end = |values: &[u64]| output::bytes(values.last().copied().unwrap_or(0));
        table.row([key.to_string(), end(&series.host_bytes), end(&series.media_bytes)]);
    }
    table.print(&mut out)?;
    record.time.as_ref().map_or(Ok(()), |time| Ok(output::timed(&mut out, time)?))
}
