//! Parsers of values that several commands take.

use std::iter;
#[cfg(feature = "serve")]
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser};
use wafer_config::did_you_mean;
use wafer_device::policy::POLICIES;
use wafer_interface::Bytes;
#[cfg(feature = "serve")]
use wafer_io::Pool;

pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a share from 0 to 1".to_owned()),
    }
}

/// Returns the parser of an existing folder.
pub(super) fn folder() -> impl TypedValueParser<Value = PathBuf> {
    let folder = |path: PathBuf| Some(path).filter(|path| path.is_dir()).ok_or("is not a folder");
    PathBufValueParser::new().try_map(folder)
}

#[cfg(feature = "serve")]
pub(super) fn lba_bytes(text: &str) -> Result<u32, String> {
    match text {
        "512" => Ok(512),
        "4096" => Ok(4096),
        _ => Err("expected 512 or 4096".to_owned()),
    }
}

/// Parses the memory for buffers.
#[cfg(feature = "serve")]
pub(super) fn buffers(text: &str) -> Result<Bytes, String> {
    match text.parse() {
        Ok(Bytes(bytes)) if (Pool::SMALLEST..=1 << 40).contains(&bytes) => Ok(Bytes(bytes)),
        _ => Err("expected a size from 32MiB to 1TiB".to_owned()),
    }
}

/// Parses `ADDRESS:PORT`, or a port of 127.0.0.1.
#[cfg(feature = "serve")]
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let alone = text.parse::<u16>().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    alone
        .or_else(|_| text.parse())
        .map_err(|_| "expected ADDRESS:PORT, such as 127.0.0.1:8080".to_owned())
}

/// Parses a token, which must be valid in URLs and headers.
#[cfg(any(feature = "serve", feature = "tui"))]
pub(crate) fn token(text: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    match text.bytes().all(plain) && text.len() >= 8 {
        true => Ok(text.to_owned()),
        false => Err("expected at least 8 letters, digits or - . _ ~".to_owned()),
    }
}

pub(super) fn interval(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(time) if time >= Duration::from_millis(10) => Ok(time),
        Ok(_) => Err("expected at least 10ms".to_owned()),
        Err(_) => Err("expected a time such as 500ms, 1s or 1m".to_owned()),
    }
}

pub(super) fn limit(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(limit) if limit > 1.0 && limit <= 1e6 => Ok(limit),
        _ => Err("expected a number above 1".to_owned()),
    }
}

/// Returns a parser of whole numbers in a range.
pub(super) fn within(
    range: RangeInclusive<usize>,
) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a number from {} to {}", range.start(), range.end()))
    }
}

/// Parses bytes per second, such as `1500MB/s`.
pub(super) fn rate(text: &str) -> Result<Bytes, String> {
    let bytes = text.trim().strip_suffix("/s").unwrap_or(text).parse();
    bytes.map_err(|_| "expected bytes per second, such as 1500MB/s".to_owned())
}

/// Parses the name of a GC policy, optionally followed by `+` and what it runs with, or `all`.
pub(super) fn policy(text: &str) -> Result<String, String> {
    let names = POLICIES.iter().map(|policy| policy.name);
    let known: Vec<&str> = iter::once("all").chain(names).collect();
    let name = text.split('+').next().unwrap_or_default();
    match known.contains(&name) {
        true => Ok(text.to_owned()),
        false => Err(format!("no policy `{name}`{}", did_you_mean(name, &known))),
    }
}

/// Parses a number above 0.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && number <= 1e12 => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}
