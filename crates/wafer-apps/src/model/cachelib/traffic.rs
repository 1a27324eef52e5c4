//! Requests to the cache: synthetic, or from CacheLib's key-value traces.

use std::collections::HashMap;
use std::path::Path;

use wafer_random::{Inverse, Ranked, Rng};

use super::config::CachelibConfig;
use crate::model::application::threshold;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Get,
    Set,
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) key: u32,
    /// Bytes of the object including its key.
    pub(super) size: u32,
    pub(super) kind: Kind,
}

/// Source of requests.
pub(super) enum Traffic {
    Law(Law),
    Trace(Trace),
}

impl Traffic {
    pub(super) fn law(config: &CachelibConfig, keys: u64, rng: Rng) -> Self {
        let ranked = Ranked::new(Inverse::zipf(keys, config.popularity), keys, 0);
        Traffic::Law(Law {
            keys,
            ranked,
            sets: threshold(config.sets),
            deletes: threshold(config.sets + config.deletes),
            sizes: Sizes::new(config),
            rng,
        })
    }

    /// # Errors
    /// If the file cannot be used; names the line.
    pub(super) fn trace(path: &Path) -> Result<Self, String> {
        Trace::read(path).map(Traffic::Trace)
    }

    pub(super) fn keys(&self) -> u32 {
        match self {
            Traffic::Law(law) => law.keys as u32,
            Traffic::Trace(trace) => trace.size.len() as u32,
        }
    }

    pub(super) fn next(&mut self) -> Request {
        match self {
            Traffic::Law(law) => law.next(),
            Traffic::Trace(trace) => trace.next(),
        }
    }

    /// Returns the size of a key's object in bytes.
    pub(super) fn size(&self, key: u32) -> u32 {
        match self {
            Traffic::Law(law) => law.sizes.of(key),
            Traffic::Trace(trace) => trace.size[key as usize],
        }
    }
}

/// Zipf-distributed keys, with sizes by key.
pub(super) struct Law {
    keys: u64,
    ranked: Ranked,
    /// Out of 2^32: requests below `sets` set, those from there to `deletes` delete.
    sets: u64,
    deletes: u64,
    sizes: Sizes,
    rng: Rng,
}

impl Law {
    fn next(&mut self) -> Request {
        // A key is its rank: its position depends only on its hash.
        let draw = self.rng.next64();
        let key = self.ranked.rank_of((draw >> 32) as u32).min(self.keys - 1) as u32;
        let kind = match draw & 0xffff_ffff {
            draw if draw < self.sets => Kind::Set,
            draw if draw < self.deletes => Kind::Delete,
            _ => Kind::Get,
        };
        Request { key, size: self.sizes.of(key), kind }
    }
}

/// Sizes of objects, by key.
struct Sizes {
    /// Keys whose hash is below this, out of 2^32, are large.
    large: u64,
    small_max: u32,
    small_mean: u32,
    /// Sizes of large objects at equally spaced quantiles of their distribution.
    large_sizes: Vec<u32>,
}

/// Number of quantiles of the large sizes.
const PLACES: usize = 4096;

impl Sizes {
    fn new(config: &CachelibConfig) -> Self {
        let least = config.small_max.0 + 1;
        let most = config.region.0 / 4;
        // A log-normal distribution with a deviation of 1 has its mean at exp(mu + 1/2).
        let mu = libm::log(config.large_object.0 as f64) - 0.5;
        let at = |i| {
            let z = normal_quantile((i as f64 + 0.5) / PLACES as f64);
            (libm::exp(mu + z).round() as u64).clamp(least, most) as u32
        };
        Sizes {
            large: threshold(config.large_keys),
            small_max: config.small_max.0 as u32,
            small_mean: config.small_object.0 as u32,
            large_sizes: (0..PLACES).map(at).collect(),
        }
    }

    /// Returns the size of a key's object. Small sizes are uniform, up to half the mean away from it if
    /// the limit allows; large ones are log-normal.
    fn of(&self, key: u32) -> u32 {
        let hash = scatter(key);
        if hash & 0xffff_ffff < self.large {
            return self.large_sizes[(hash >> 52) as usize % PLACES];
        }
        let half = (self.small_mean / 2).min(self.small_max - self.small_mean);
        self.small_mean - half + ((hash >> 32) as u32) % (2 * half + 1)
    }
}

/// Hashes a key, differently from the buckets (the murmur finaliser).
fn scatter(key: u32) -> u64 {
    let mut z = u64::from(key) + 1;
    z = (z ^ (z >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z = (z ^ (z >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z ^ (z >> 33)
}

/// Returns a quantile of the standard normal distribution, by bisection of erfc.
fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if 0.5 * libm::erfc(-middle * std::f64::consts::FRAC_1_SQRT_2) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// A trace in memory.
pub(super) struct Trace {
    requests: Vec<(u32, Kind, u32)>,
    /// Bytes of each key's object including its key, the largest seen.
    size: Vec<u32>,
    at: usize,
    /// Remaining repetitions of the request at `at`.
    left: u32,
}

/// Larger objects are truncated: one must fit into a region.
const MOST: u64 = 1 << 24;

impl Trace {
    fn read(path: &Path) -> Result<Self, String> {
        let show = path.display();
        let fail = |line: u64, what: String| format!("{show}:{line}: {what}");
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_path(path)
            .map_err(|e| format!("{show}: {e}"))?;
        let header = reader.headers().map_err(|e| fail(1, e.to_string()))?.clone();
        let column = |name: &str| {
            let found = header.iter().position(|h| h.trim() == name);
            found.ok_or_else(|| fail(1, format!("no column `{name}`")))
        };
        let [key, op, size] = [column("key")?, column("op")?, column("size")?];
        let [count, key_size] = ["op_count", "key_size"].map(|name| column(name).ok());
        let mut trace = Trace { requests: Vec::new(), size: Vec::new(), at: 0, left: 0 };
        let mut ids: HashMap<Box<[u8]>, u32> = HashMap::new();
        let mut record = csv::ByteRecord::new();
        loop {
            let line = reader.position().line();
            match reader.read_byte_record(&mut record) {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) => return Err(fail(line, e.to_string())),
            }
            let number = |column: usize, name: &str, default: Option<u64>| {
                let text = record.get(column).and_then(|b| std::str::from_utf8(b).ok());
                let text = text.unwrap_or_default().trim();
                // Sizes may be written as fractions; a column may be empty.
                let value = text
                    .parse::<u64>()
                    .ok()
                    .or_else(|| text.parse::<f64>().ok().filter(|v| *v >= 0.0).map(|v| v as u64));
                let value = value.or(default.filter(|_| text.is_empty()));
                value.ok_or_else(|| fail(line, format!("{name} `{text}` is not a number")))
            };
            let Some(key_text) = record.get(key).filter(|k| !k.is_empty()) else {
                return Err(fail(line, "no key".to_owned()));
            };
            let kind = match record.get(op).map(<[u8]>::to_ascii_lowercase).as_deref() {
                Some(b"get" | b"get_lease" | b"gets" | b"get_range") => Kind::Get,
                Some(b"set" | b"set_lease" | b"add" | b"replace" | b"cas") => Kind::Set,
                Some(b"delete" | b"del") => Kind::Delete,
                _ => {
                    let other = String::from_utf8_lossy(record.get(op).unwrap_or_default());
                    return Err(fail(line, format!("op `{other}`: expected get, set or delete")));
                }
            };
            let keys = key_size.map_or(Ok(0), |c| number(c, "key_size", Some(0)))?;
            let bytes = (number(size, "size", Some(0))? + keys).clamp(1, MOST) as u32;
            let times = count.map_or(Ok(1), |c| number(c, "op_count", Some(1)))?;
            let next = trace.size.len() as u32;
            let id = *ids.entry(key_text.into()).or_insert(next);
            if id == next {
                trace.size.push(0);
            }
            let known = &mut trace.size[id as usize];
            *known = (*known).max(bytes);
            trace.requests.push((id, kind, times.clamp(1, u64::from(u32::MAX)) as u32));
        }
        if trace.requests.is_empty() {
            return Err(format!("{show}: no requests"));
        }
        trace.left = trace.requests[0].2;
        Ok(trace)
    }

    fn next(&mut self) -> Request {
        let (key, kind, _) = self.requests[self.at];
        self.left -= 1;
        if self.left == 0 {
            self.at = (self.at + 1) % self.requests.len();
            self.left = self.requests[self.at].2;
        }
        Request { key, size: self.size[key as usize], kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_both_years_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kv.csv");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Trace::read(&path)
        };
        let old =
            "key,op,size,op_count,key_size\na,GET,100,2,20\nb,SET,5000,1,30\na,DELETE,0,1,20\n";
        let mut trace = read(old).unwrap();
        let requests: Vec<_> = (0..5).map(|_| trace.next()).collect();
        let get = Request { key: 0, size: 120, kind: Kind::Get };
        let set = Request { key: 1, size: 5030, kind: Kind::Set };
        let delete = Request { key: 0, size: 120, kind: Kind::Delete };
        assert_eq!(requests, [get, get, set, delete, get]);
        let new = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n\
                   1,a,20,GET,1,100,1,0,x,y\n";
        assert_eq!(read(new).unwrap().next(), get);
        let error = |text: &str| read(text).err().unwrap().rsplit('/').next().unwrap().to_owned();
        assert_eq!(error("key,op\n"), "kv.csv:1: no column `size`");
        assert_eq!(
            error("key,op,size\na,FLY,1\n"),
            "kv.csv:2: op `FLY`: expected get, set or delete"
        );
        assert_eq!(error("key,op,size\na,GET,x\n"), "kv.csv:2: size `x` is not a number");
        assert_eq!(error("key,op,size\n"), "kv.csv: no requests");
    }

    #[test]
    fn sizes_have_their_means() {
        let config = CachelibConfig::default();
        let sizes = Sizes::new(&config);
        let (mut small, mut large) = ((0u64, 0u64), (0u64, 0u64));
        for key in 0..2_000_000 {
            let size = u64::from(sizes.of(key));
            let sum = if size <= config.small_max.0 { &mut small } else { &mut large };
            *sum = (sum.0 + size, sum.1 + 1);
        }
        let mean = |(bytes, count): (u64, u64)| bytes as f64 / count as f64;
        assert!((large.1 as f64 / 2e6 / config.large_keys - 1.0).abs() < 0.02);
        assert!((mean(small) / config.small_object.0 as f64 - 1.0).abs() < 0.01);
        assert!((mean(large) / config.large_object.0 as f64 - 1.0).abs() < 0.05);
    }
}
