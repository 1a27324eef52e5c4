//! Names of the outside world: I/O engines and the files they open.

use super::error::quote;
use super::nearest::nearest;

/// What an I/O engine means for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// Keeps `iodepth` commands in flight.
    Asynchronous,
    /// Has one command in flight, whatever `iodepth` says.
    Synchronous,
    /// Reads and writes no block device.
    NoDevice,
}

const ENGINES: &[(&str, Engine)] = &[
    ("libaio", Engine::Asynchronous),
    ("io_uring", Engine::Asynchronous),
    ("io_uring_cmd", Engine::Asynchronous),
    ("posixaio", Engine::Asynchronous),
    ("windowsaio", Engine::Asynchronous),
    ("solarisaio", Engine::Asynchronous),
    ("xnvme", Engine::Asynchronous),
    ("libblkio", Engine::Asynchronous),
    ("nbd", Engine::Asynchronous),
    ("rbd", Engine::Asynchronous),
    ("rados", Engine::Asynchronous),
    ("null", Engine::Asynchronous),
    ("external", Engine::Asynchronous),
    ("sync", Engine::Synchronous),
    ("psync", Engine::Synchronous),
    ("vsync", Engine::Synchronous),
    ("pvsync", Engine::Synchronous),
    ("pvsync2", Engine::Synchronous),
    ("mmap", Engine::Synchronous),
    ("sg", Engine::Synchronous),
    ("splice", Engine::Synchronous),
    ("libpmem", Engine::Synchronous),
    ("pmemblk", Engine::Synchronous),
    ("dev-dax", Engine::Synchronous),
    ("mtd", Engine::Synchronous),
    ("libcufile", Engine::Synchronous),
    ("libhipfile", Engine::Synchronous),
    ("libiscsi", Engine::Synchronous),
    ("libzbc", Engine::Synchronous),
    ("cpuio", Engine::NoDevice),
    ("net", Engine::NoDevice),
    ("netsplice", Engine::NoDevice),
    ("rdma", Engine::NoDevice),
    ("exec", Engine::NoDevice),
    ("page_fault", Engine::NoDevice),
    ("e4defrag", Engine::NoDevice),
    ("falloc", Engine::NoDevice),
    ("ftruncate", Engine::NoDevice),
    ("filecreate", Engine::NoDevice),
    ("filestat", Engine::NoDevice),
    ("filedelete", Engine::NoDevice),
    ("dircreate", Engine::NoDevice),
    ("dirstat", Engine::NoDevice),
    ("dirdelete", Engine::NoDevice),
    ("gfapi", Engine::NoDevice),
    ("gfapi_async", Engine::NoDevice),
    ("libhdfs", Engine::NoDevice),
    ("dfs", Engine::NoDevice),
    ("nfs", Engine::NoDevice),
    ("http", Engine::NoDevice),
    ("ime_psync", Engine::NoDevice),
    ("ime_psyncv", Engine::NoDevice),
    ("ime_aio", Engine::NoDevice),
];

/// `ioengine=NAME[:...]`.
pub(super) fn engine(text: &str) -> Result<Engine, String> {
    let name = text.split(':').next().unwrap_or(text);
    match ENGINES.iter().find(|(n, _)| *n == name) {
        Some((_, Engine::NoDevice)) => Err(format!("{} writes to no block device", quote(name))),
        Some((_, engine)) => Ok(*engine),
        None if text.is_empty() => Err("needs a name as its value".into()),
        None => Err(match nearest(name, ENGINES.iter().map(|(n, _)| *n)) {
            Some(near) => {
                format!("{} is no engine of fio; did you mean {}?", quote(name), quote(near))
            }
            None => format!("{} is no engine of fio", quote(name)),
        }),
    }
}

/// The namespace, from 0, that `filename` names. `/dev/ng0n2` and `/dev/nvme0n2` are the second;
/// whatever is no NVMe namespace stands for the first.
pub(super) fn namespace(text: &str) -> Result<u8, String> {
    let names = split_names(text.trim());
    let [name] = &names[..] else {
        return Err(match names.len() {
            0 => "names no file".into(),
            n => format!("names {n} files; one per job is supported"),
        });
    };
    let Some(device) = name.strip_prefix("/dev/") else {
        return Ok(0);
    };
    let Some(rest) = device.strip_prefix("nvme").or_else(|| device.strip_prefix("ng")) else {
        return Ok(0);
    };
    // CONTROLLER [c PATH] n NAMESPACE [p PARTITION]
    let after = |text: &str| text.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    let mut tail = after(rest);
    if let Some(path) = tail.strip_prefix('c') {
        tail = after(path);
    }
    let Some(number) = tail.strip_prefix('n') else {
        return Ok(0);
    };
    let end = after(number);
    if end.starts_with('p') {
        return Err(format!("{} is a partition; name the namespace", quote(name)));
    }
    if !end.is_empty() {
        return Ok(0);
    }
    nsid(number).ok_or_else(|| format!("{} is no namespace", quote(name)))
}

/// A namespace identifier (from 1) as index (from 0).
pub(super) fn nsid(text: &str) -> Option<u8> {
    text.parse::<u32>().ok()?.checked_sub(1).and_then(|n| u8::try_from(n).ok())
}

/// File names are separated by `:`; `\:` belongs to a name. Empty names are skipped.
fn split_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&':') => {
                chars.next();
                name.push(':');
            }
            ':' => names.push(std::mem::take(&mut name)),
            _ => name.push(c),
        }
    }
    names.push(name);
    names.retain(|n| !n.is_empty());
    names
}

#[cfg(test)]
mod tests;
