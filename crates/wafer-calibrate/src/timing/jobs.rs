//! Converts measured jobs to jobs of the scaled drive.
//!
//! Options are kept, except those of a job's duration ([`REPLACED`]) and of its addresses on the drive ([`PLACES`]).
//! Options without an equivalent are refused or noted.

use std::path::Path;

use wafer_fio::job::{BlockSize, JobSpec};
use wafer_fio_file::{FioError, JobFile, NOT_SIMULATED, Target};
use wafer_lab::LabError;

/// Options of names, reports and duration, which are replaced.
#[rustfmt::skip] // names fill the lines
const REPLACED: [&str; 31] = [
    "name", "description", "filename", "directory", "ioengine", "direct", "thread", "group_reporting", "new_group",
    "runtime", "timeout", "time_based", "ramp_time", "loops", "number_ios", "exitall", "exit_what", "end_fsync",
    "fsync_on_close", "randseed", "randrepeat", "allrandrepeat", "xnvme_dev_nsid", "steadystate", "ss",
    "steadystate_duration", "ss_dur", "steadystate_ramp_time", "ss_ramp", "steadystate_check_interval", "ss_interval",
];
/// Options in bytes of the measured drive.
#[rustfmt::skip] // names fill the lines
const PLACES: [&str; 10] = [
    "offset", "fileoffset", "offset_increment", "offset_align", "size", "io_size", "io_limit", "filesize",
    "fill_device", "fill_fs",
];
/// Options without an equivalent on a scaled drive, with the reason.
const REFUSED: [(&str, &str); 5] = [
    ("stonewall", SERIAL),
    ("wait_for_previous", SERIAL),
    ("wait_for", SERIAL),
    ("latency_target", "chose its queue depth; measure with `iodepth` instead"),
    ("dp_scheme", "names addresses of the whole drive"),
];
const SERIAL: &str = "began when another had ended; give each a result of its own";
/// Maximum start delay of a job in seconds: results begin after 100 ms.
const DELAY: f64 = 0.1;
/// Maximum alignment of places that is kept, as a power of 2.
const ALIGNED: u32 = 20;

/// A job of a result.
pub(super) struct Section {
    /// Its options, one per line.
    pub(super) lines: String,
    /// The job and its clones, on a drive of 1 PiB unless the result states its size.
    pub(super) jobs: Vec<JobSpec>,
    /// Notices about options that are not simulated.
    pub(super) notices: Vec<String>,
}

/// Returns the job with these options (later ones take precedence), or which cannot be followed.
pub(super) fn section<'a>(
    options: impl Iterator<Item = (&'a str, String)>,
    bytes: Option<u64>,
) -> Result<Section, String> {
    let mut lines: Vec<String> = Vec::new();
    for (key, value) in options.filter(|(key, _)| !REPLACED.contains(key)) {
        if value.contains(['\n', '\r', '[']) {
            return Err(format!("{key} is not one value"));
        }
        if let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == key && value != "0") {
            return Err(format!("{key}: {why}"));
        }
        // fio writes a lone option without a value.
        lines.push(if value.is_empty() { key.to_owned() } else { format!("{key}={value}") });
    }
    let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let target = Target {
        namespace_bytes: vec![bytes.unwrap_or(1 << 50)],
        namespace_handles: vec![u16::MAX],
        page_bytes: 4096,
    };
    let file = JobFile::parse(&format!("[job]\n{}", text(&lines)), "");
    let found = file.and_then(|file| file.resolve_with(&target, &|_| None)).map_err(reason)?;
    let unlike = found.ignored.iter().filter(|option| option.reason.starts_with(NOT_SIMULATED));
    let mut notices: Vec<String> =
        unlike.map(|option| format!("{}: {}", option.name, option.reason)).collect();
    if found.jobs.iter().any(|job| job.start_delay > DELAY) {
        let is_delay = |line: &String| line.starts_with("startdelay=");
        let late = lines.iter().rfind(|line| is_delay(line)).cloned().unwrap_or_default();
        notices.push(format!("{late}: more than 100 ms; the job begins at once here"));
        lines.retain(|line| !is_delay(line));
    }
    Ok(Section { lines: text(&lines), jobs: found.jobs, notices })
}

/// Returns jobs for a drive of `bytes` that stands in for a larger one: they cover the same share of it.
///
/// # Errors
/// If a place lies outside the measured drive; `label` is the file.
pub(super) fn scaled(
    text: &str,
    label: &str,
    measured: &Target,
    bytes: u64,
) -> Result<String, LabError> {
    let is_place = |line: &str| line.split('=').next().is_some_and(|key| PLACES.contains(&key));
    if !text.lines().any(is_place) {
        return Ok(text.to_owned());
    }
    let is_job = |line: &str| line.starts_with('[') && line != "[global]";
    let file = JobFile::parse(text, Path::new(label));
    let jobs = file.and_then(|file| file.resolve_with(measured, &|_| None)).map_err(|error| {
        let job = match &error {
            FioError::Option { line, .. } => {
                text.lines().take(*line as usize).filter(|line| is_job(line)).count()
            }
            _ => 1,
        };
        LabError::config(format!("{label}: job {job}"), reason(error))
    })?;
    let whole = measured.namespace_bytes.first().copied().unwrap_or_default().max(1);
    let mut first = jobs.jobs.iter().enumerate().filter(|(_, job)| job.instance == 0);
    let mut out = String::new();
    for line in text.lines().filter(|line| !is_place(line)) {
        out += &format!("{line}\n");
        if let Some((at, job)) = if is_job(line) { first.next() } else { None } {
            let clone = jobs.jobs.get(at + 1).filter(|clone| clone.instance == 1);
            out += &places(job, clone, |part| scale(part, whole, bytes), whole);
        }
    }
    Ok(out)
}

/// Returns the options that place a job and its clones.
fn places(
    job: &JobSpec,
    clone: Option<&JobSpec>,
    scale: impl Fn(u64) -> u64,
    whole: u64,
) -> String {
    let block = job.direction.used().iter().map(|at| largest(&job.block_size[*at])).max();
    let block = block.unwrap_or_default();
    let mut lines = String::new();
    let mut add = |key: &str, bytes: u64| lines += &format!("{key}={bytes}\n");
    if job.offset > 0 {
        add("offset", scale(job.offset));
    }
    if let Some(clone) = clone.filter(|clone| clone.offset > job.offset) {
        add("offset_increment", scale(clone.offset - job.offset).max(block));
    }
    // Otherwise up to the end.
    if job.offset + job.size + block <= whole {
        add("size", scale(job.size).max(block));
    }
    if job.io_size != job.size {
        add("io_size", scale(job.io_size).max(block));
    }
    lines
}

fn largest(size: &BlockSize) -> u64 {
    match size {
        BlockSize::Fixed(bytes) | BlockSize::Range { max: bytes, .. } => *bytes,
        BlockSize::Split(parts) => parts.iter().map(|(bytes, _)| *bytes).max().unwrap_or_default(),
    }
}

/// Scales a part of a drive of `whole` bytes to one of `bytes`, keeping its alignment.
fn scale(part: u64, whole: u64, bytes: u64) -> u64 {
    let scaled = u128::from(part) * u128::from(bytes) / u128::from(whole);
    let scaled = u64::try_from(scaled).unwrap_or(u64::MAX);
    let align = 1 << part.trailing_zeros().min(ALIGNED);
    (scaled / align * align).max(align)
}

/// Returns the message of an error without its position, which refers to a generated file.
fn reason(error: FioError) -> String {
    match error {
        FioError::Option { option, message, .. } => format!("{option}: {message}"),
        FioError::File { message, .. } | FioError::Line { message, .. } => message,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(text: &str, whole: u64, bytes: u64) -> Result<String, LabError> {
        let target =
            Target { namespace_bytes: vec![whole], namespace_handles: vec![1], page_bytes: 4096 };
        scaled(&format!("[global]\n[a]\nrw=randwrite\n{text}"), "a.json", &target, bytes)
    }

    #[test]
    fn places_keep_their_share_of_the_drive() {
        let whole = 1 << 40;
        let places = |text: &str| {
            let all = on(text, whole, 1 << 32).unwrap();
            let (_, lines) = all.split_once("[a]\n").unwrap();
            lines.replace("rw=randwrite\n", "").replace('\n', " ")
        };
        assert_eq!(places("bs=4k\n"), "bs=4k ");
        assert_eq!(places("size=100%\n"), "");
        assert_eq!(places("offset=50%\n"), "offset=2147483648 ");
        assert_eq!(places("offset=256g\nsize=512g\n"), "offset=1073741824 size=2147483648 ");
        assert_eq!(places("offset=25%\nsize=25%\nio_size=1g\n").matches("=10737").count(), 2);
        assert_eq!(places("size=64k\nbs=64k\n"), "size=65536 bs=64k ");
        assert_eq!(
            places("offset_increment=256g\nsize=256g\nnumjobs=4\n"),
            "offset_increment=1073741824 size=1073741824 numjobs=4 "
        );
        // A whole number of blocks, or nearly.
        assert_eq!(places(&format!("size={}\n", whole - 4096)), "size=4294963200 ");
    }

    #[test]
    fn places_outside_of_the_drive_are_named() {
        let message = on("size=2t\n", 1 << 40, 1 << 32).unwrap_err().to_string();
        assert!(message.starts_with("a.json: job 1: size: 2199023255552 bytes"), "{message}");
    }
}
