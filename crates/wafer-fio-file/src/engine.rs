//! I/O engines and the files they open.

use super::error::quote;
use super::nearest::did_you_mean;

/// The effect of an I/O engine on a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Engine {
    /// Keeps `iodepth` commands in flight.
    #[default]
    Asynchronous,
    /// Keeps one command in flight, whatever the `iodepth`.
    Synchronous,
    /// Does not access a block device.
    NoDevice,
}

#[rustfmt::skip] // names fill the lines
const ENGINES: &[(Engine, &[&str])] = &[
    (Engine::Asynchronous, &[
        "libaio", "io_uring", "io_uring_cmd", "posixaio", "windowsaio", "solarisaio", "xnvme",
        "libblkio", "nbd", "rbd", "rados", "null", "external",
    ]),
    (Engine::Synchronous, &[
        "sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "sg", "splice", "libpmem", "pmemblk",
        "dev-dax", "mtd", "libcufile", "libhipfile", "libiscsi", "libzbc",
    ]),
    (Engine::NoDevice, &[
        "cpuio", "net", "netsplice", "rdma", "exec", "page_fault", "e4defrag", "falloc",
        "ftruncate", "filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete",
        "gfapi", "gfapi_async", "libhdfs", "dfs", "nfs", "http", "ime_psync", "ime_psyncv",
        "ime_aio",
    ]),
];

/// Reads `ioengine=NAME[:...]`.
pub(super) fn engine(text: &str) -> Result<Engine, String> {
    let name = text.split(':').next().unwrap_or(text);
    match ENGINES.iter().find(|(_, names)| names.contains(&name)) {
        Some((Engine::NoDevice, _)) => Err(format!("{} writes to no block device", quote(name))),
        Some((engine, _)) => Ok(*engine),
        None if text.is_empty() => Err("needs a name as its value".into()),
        None => {
            let near = did_you_mean(name, ENGINES.iter().flat_map(|(_, names)| *names).copied());
            Err(format!("{} is not an engine of fio{near}", quote(name)))
        }
    }
}

/// Returns the index of the namespace that `filename` names. `/dev/ng0n2` and `/dev/nvme0n2` are the
/// second namespace; any other file stands for the first.
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
    index(number, name)
}

/// Reads a namespace identifier as the index of the namespace.
pub(super) fn nsid(text: &str) -> Result<u8, String> {
    index(text, text)
}

/// Converts a namespace identifier (from 1) to an index (from 0); errors quote `name`.
fn index(nsid: &str, name: &str) -> Result<u8, String> {
    let index = nsid.parse::<u32>().ok().and_then(|n| u8::try_from(n.checked_sub(1)?).ok());
    index.ok_or_else(|| format!("{} is not a namespace", quote(name)))
}

/// Splits file names, which are separated by `:`; `\:` belongs to a name. Empty names are skipped.
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
