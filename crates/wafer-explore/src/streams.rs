//! Streams as shown in the page's table, and their fio jobs.
//!
//! A stream is a job that overwrites a part of the space, in one of four patterns, through one placement handle. A job
//! file that has only such jobs becomes streams again; any other is kept as text.

use serde::{Deserialize, Serialize};

/// A stream of writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Name of the job.
    pub name: String,
    /// Order of addresses.
    pub pattern: Pattern,
    /// With `zipf`: theta. With `hot`: percent of the writes that go to the first fifth of the region.
    #[serde(default)]
    pub skew: f64,
    /// Start of the region in percent of the capacity.
    #[serde(default)]
    pub offset: f64,
    /// Size of the region in percent of the capacity.
    pub size: f64,
    /// Size of a write in fio's spelling, such as `4k`.
    pub bs: String,
    /// Placement handle.
    pub handle: u16,
    /// Share of the bytes; none for the share that a closed loop gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// Order of the addresses of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Ascending addresses, over and over.
    Sequential,
    /// Independent addresses, all equally likely.
    Uniform,
    /// Independent addresses of a Zipf distribution.
    Zipf,
    /// Independent addresses, with more writes to the first fifth of the region.
    Hot,
}

/// Commands of a stream in flight: one if it is sequential, else 32.
const DEPTHS: [(bool, u32); 2] = [(true, 1), (false, 32)];

/// Options common to all jobs.
const GLOBAL: [(&str, &str); 6] = [
    ("ioengine", "io_uring_cmd"),
    ("cmd_type", "nvme"),
    ("filename", "/dev/ng0n1"),
    ("fdp", "1"),
    ("time_based", "1"),
    ("runtime", "10d"),
];

pub(crate) fn job_file(streams: &[Stream]) -> String {
    let mut text = String::from("[global]\n");
    for (key, value) in GLOBAL {
        text += &format!("{key}={value}\n");
    }
    for stream in streams {
        text += &format!("\n[{}]\n", stream.name);
        for (key, value) in options(stream) {
            text += &format!("{key}={value}\n");
        }
    }
    text
}

/// Returns the options of a stream's job.
fn options(stream: &Stream) -> Vec<(&'static str, String)> {
    let sequential = stream.pattern == Pattern::Sequential;
    let depth = DEPTHS.iter().find(|(of, _)| *of == sequential).map_or(1, |(_, depth)| *depth);
    let mut options = vec![
        ("rw", if sequential { "write" } else { "randwrite" }.to_owned()),
        ("bs", stream.bs.clone()),
        ("iodepth", depth.to_string()),
        ("offset", format!("{}%", stream.offset)),
        ("size", format!("{}%", stream.size)),
        ("fdp_pli", stream.handle.to_string()),
    ];
    if !sequential {
        options.push(("norandommap", "1".to_owned()));
    }
    match stream.pattern {
        Pattern::Sequential | Pattern::Uniform => {}
        Pattern::Zipf => options.push(("random_distribution", format!("zipf:{}", stream.skew))),
        Pattern::Hot => {
            let cold = 100.0 - stream.skew;
            let zones = format!("zoned:{}/20:{cold}/80", stream.skew);
            options.push(("random_distribution", zones));
        }
    }
    options
}

/// Returns the shares of the streams, if all have one.
pub(crate) fn pace(streams: &[Stream]) -> Option<String> {
    let share = |stream: &Stream| Some(format!("{}={}", stream.name, stream.share?));
    let shares: Option<Vec<String>> = streams.iter().map(share).collect();
    shares.filter(|shares| !shares.is_empty()).map(|shares| shares.join(","))
}

/// Returns the streams of a job file; none if it has anything that streams cannot express.
pub(crate) fn of_job_file(text: &str, pace: Option<&str>) -> Option<Vec<Stream>> {
    let mut global = Vec::new();
    let mut jobs: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            jobs.push((name.to_owned(), Vec::new()));
            continue;
        }
        let (key, value) = line.split_once('=')?;
        let option = (key.trim().to_owned(), value.trim().to_owned());
        match jobs.last_mut()? {
            (name, _) if name == "global" => global.push(option),
            (_, options) => options.push(option),
        }
    }
    jobs.retain(|(name, _)| name != "global");
    let streams: Option<Vec<Stream>> = jobs
        .iter()
        .map(|(name, own)| of_job(name, &[global.clone(), own.clone()].concat()))
        .collect();
    let mut streams = streams.filter(|streams| !streams.is_empty())?;
    for share in pace.into_iter().flat_map(|pace| pace.split(',')) {
        let (name, share) = share.split_once('=')?;
        streams.iter_mut().find(|stream| stream.name == name)?.share = Some(share.parse().ok()?);
    }
    let shared = streams.iter().filter(|stream| stream.share.is_some()).count();
    (shared == 0 || shared == streams.len()).then_some(streams)
}

/// Returns the stream of a job; none if the job is not exactly that of a stream.
fn of_job(name: &str, given: &[(String, String)]) -> Option<Stream> {
    let get = |key: &str| given.iter().rfind(|(k, _)| k == key).map(|(_, value)| value.as_str());
    let percent = |key: &str| get(key)?.strip_suffix('%')?.parse::<f64>().ok();
    let (pattern, skew) = match (get("rw")?, get("random_distribution").unwrap_or("random")) {
        ("write", _) => (Pattern::Sequential, 0.0),
        ("randwrite", "random") => (Pattern::Uniform, 0.0),
        ("randwrite", other) => match other.split_once(':')? {
            ("zipf", theta) => (Pattern::Zipf, theta.parse().ok()?),
            ("zoned", zones) => (Pattern::Hot, zones.split_once("/20:")?.0.parse().ok()?),
            _ => return None,
        },
        _ => return None,
    };
    let stream = Stream {
        name: name.to_owned(),
        pattern,
        skew,
        offset: if get("offset").is_some() { percent("offset")? } else { 0.0 },
        size: if get("size").is_some() { percent("size")? } else { 100.0 },
        bs: get("bs")?.to_owned(),
        handle: get("fdp_pli")?.parse().ok()?,
        share: None,
    };
    let expected = || GLOBAL.iter().map(|(k, v)| (*k, (*v).to_owned())).chain(options(&stream));
    let known = |(key, value): &(String, String)| {
        expected().any(|(k, v)| k == key && v == *value) || key == "group_reporting"
    };
    // Options implied by `fdp_pli`, and those needed only for a device file, may be omitted.
    let needed = |key: &str| !["ioengine", "cmd_type", "filename", "offset", "size"].contains(&key);
    let all = expected().all(|(key, _)| get(key).is_some() || !needed(key));
    (given.iter().all(known) && all).then_some(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(name: &str, pattern: Pattern, skew: f64, share: Option<f64>) -> Stream {
        let (name, bs) = (name.to_owned(), "4k".to_owned());
        Stream { name, pattern, skew, offset: 10.0, size: 62.5, bs, handle: 3, share }
    }

    #[test]
    fn streams_become_jobs_and_streams_again() {
        let patterns = [
            (Pattern::Sequential, 0.0),
            (Pattern::Uniform, 0.0),
            (Pattern::Zipf, 1.1),
            (Pattern::Hot, 95.0),
        ];
        for share in [None, Some(0.25)] {
            let streams: Vec<Stream> = patterns
                .iter()
                .enumerate()
                .map(|(i, (pattern, skew))| stream(&format!("s{i}"), *pattern, *skew, share))
                .collect();
            let again = of_job_file(&job_file(&streams), pace(&streams).as_deref());
            assert_eq!(again, Some(streams));
        }
    }

    #[test]
    fn a_job_that_no_stream_is_stays_a_text() {
        let text = job_file(&[stream("a", Pattern::Uniform, 0.0, None)]);
        assert!(of_job_file(&text, None).is_some());
        for (from, to) in [
            ("norandommap=1\n", ""),
            ("norandommap=1\n", "norandommap=0\n"),
            ("bs=4k\n", "bs=4k\nrwmixread=50\n"),
            ("rw=randwrite", "rw=randrw"),
            ("fdp_pli=3\n", ""),
            ("time_based=1\n", ""),
            ("iodepth=32", "iodepth=8"),
            ("size=62.5%", "size=1g"),
        ] {
            assert!(text.contains(from), "{from}");
            assert_eq!(of_job_file(&text.replace(from, to), None), None, "{to}");
        }
        assert_eq!(of_job_file(&text, Some("b=1")), None);
    }
}
