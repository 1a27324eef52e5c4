//! The folder of drives in steady state, one file each, so that `--precondition steady` takes its time only once.
//!
//! A file is a line of JSON that holds its key, and a zstd stream with a checksum. A run reads it only if the whole key
//! is the run's own: device, workload with its files, precondition, seed, and the program itself.

use std::error::Error as _;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wafer_interface::Bytes;
use wafer_lab::{LabError, SteadyStates};
use wafer_record::text::bytes;
use wafer_record::{RecordError, write_file};

const FORMAT: &str = "wafer.steady/1";
const EXTENSION: &str = "steady";
/// Number of digits in a file name.
const NAME: usize = 16;
/// Maximum bytes of the first line of a file.
const MOST_HEAD: u64 = 16 << 20;
/// Compression level of zstd: the fastest, as maps compress little.
const LEVEL: i32 = 1;
/// Default of `WAFER_CACHE_LIMIT`.
const LIMIT: u64 = 16 << 30;

/// The folder, and the maximum space that it may take.
pub struct Cache {
    folder: PathBuf,
    limit: u64,
    program: Value,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

/// The first line of a file.
#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    program: Value,
    key: Value,
}

/// A drive in the folder.
#[derive(Debug, Serialize)]
pub struct Entry {
    #[serde(skip)]
    path: PathBuf,
    #[serde(skip)]
    used: SystemTime,
    /// Profile or file of the device.
    pub device: String,
    /// Path of the workload.
    pub workload: String,
    /// What brought it to that state, as in `--precondition`.
    pub precondition: String,
    /// Seed of the run.
    pub seed: u64,
    /// Size of the file.
    pub bytes: u64,
    /// When a run last read or wrote it, in seconds since 1970.
    pub used_unix_seconds: u64,
}

impl Cache {
    /// Returns the folder that the environment names: `WAFER_CACHE`, or `wafer` in the user's cache; `None` if it is
    /// `off`. `program` is the file of the program, and `tell` is called with a sentence if a drive cannot be kept.
    ///
    /// # Errors
    /// `WAFER_CACHE` is a file, or `WAFER_CACHE_LIMIT` is not a size.
    pub fn of_environment(
        program: &Path,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Option<Self>, LabError> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let users = || {
            let home = || Some(PathBuf::from(variable("HOME")?).join(".cache"));
            let cache = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
            Some(cache.or_else(home)?.join("wafer"))
        };
        let folder = match variable("WAFER_CACHE") {
            Some(off) if off == "off" => None,
            Some(folder) if Path::new(&folder).is_file() => {
                let reason = format!("{}: not a folder", folder.to_string_lossy());
                return Err(LabError::config("WAFER_CACHE", reason));
            }
            Some(folder) => Some(PathBuf::from(folder)),
            None => users(),
        };
        let limit = variable("WAFER_CACHE_LIMIT").map_or(Ok(LIMIT), |text| size(&text))?;
        let program = identity(program);
        Ok(folder.map(|folder| Cache { folder, limit, program, tell: Box::new(tell) }))
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the maximum bytes that it may take.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the drives in the folder, the last used first. Other files are skipped; an unreadable file with the name
    /// of a drive counts as one.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let folder = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut entries = Vec::new();
        for file in folder {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION)
                && let Ok(entry) = entry(path)
            {
                entries.push(entry);
            }
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        Ok(entries)
    }

    /// Removes all drives, and returns their number and bytes.
    ///
    /// # Errors
    /// The folder cannot be read, or a file cannot be removed.
    pub fn clear(&self) -> io::Result<(usize, u64)> {
        let entries = self.entries()?;
        entries.iter().try_for_each(|entry| remove(&entry.path))?;
        Ok((entries.len(), entries.iter().map(|entry| entry.bytes).sum()))
    }

    fn path(&self, key: &Value) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (self.program.to_string(), key.to_string()).hash(&mut hasher);
        self.folder.join(format!("{:0NAME$x}.{EXTENSION}", hasher.finish()))
    }

    /// Removes the drives not used for the longest until the rest fits.
    fn fit(&self) -> io::Result<()> {
        let entries = self.entries()?;
        let mut sum = 0;
        for entry in entries {
            sum += entry.bytes;
            if sum > self.limit {
                remove(&entry.path)?;
            }
        }
        Ok(())
    }

    fn write(
        &self,
        key: &Value,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), RecordError> {
        let failed = |source| RecordError::Io { path: self.folder.clone(), source };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let path = self.path(key);
        let head =
            Head { format: FORMAT.to_owned(), program: self.program.clone(), key: key.clone() };
        write_file(&path, |to| {
            serde_json::to_writer(&mut *to, &head)?;
            to.write_all(b"\n")?;
            let limited = Limited { to, limit: self.limit, taken: 0 };
            let mut encoder = zstd::stream::write::Encoder::new(limited, LEVEL)?;
            encoder.include_checksum(true)?;
            write(&mut encoder)?;
            encoder.finish()?;
            Ok(())
        })?;
        self.fit().map_err(failed)
    }
}

/// Removes a file that another process may have removed.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

impl SteadyStates for Cache {
    fn find(&self, key: &Value) -> Option<Box<dyn Read>> {
        let path = self.path(key);
        let (head, file) = open(&path).ok()?;
        if head.key != *key || head.program != self.program {
            return None;
        }
        // Drives used last are kept longest. A read-only folder can still be read.
        let _ = file.get_ref().set_modified(SystemTime::now());
        Some(Box::new(zstd::stream::read::Decoder::with_buffer(file).ok()?))
    }

    fn keep(&self, key: &Value, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) {
        if let Err(error) = self.write(key, write) {
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            (self.tell)(&format!(
                "{}: the steady state is not kept: {cause}",
                self.folder.display()
            ));
        }
    }

    fn remove(&self, key: &Value) {
        // If it stays, the next run finds it damaged and makes it again.
        let _ = fs::remove_file(self.path(key));
    }
}

/// Returns what identifies a build of the program; its version is not enough during development.
fn identity(program: &Path) -> Value {
    let file = fs::metadata(program);
    let modified = file.as_ref().ok().and_then(|file| seconds(file.modified().ok()?));
    let length = file.map(|file| file.len()).ok();
    serde_json::json!({ "bytes": length, "modified": modified.map(|d| d.as_nanos().to_string()) })
}

fn seconds(time: SystemTime) -> Option<std::time::Duration> {
    time.duration_since(UNIX_EPOCH).ok()
}

fn size(text: &OsString) -> Result<u64, LabError> {
    let text = text.to_string_lossy();
    let bytes: Bytes = text
        .parse()
        .map_err(|reason| LabError::config("WAFER_CACHE_LIMIT", format!("{text:?}: {reason}")))?;
    Ok(bytes.0)
}

/// Reads the first line of a file. The reader returned is at the byte after it.
fn open(path: &Path) -> io::Result<(Head, BufReader<File>)> {
    let mut file = BufReader::with_capacity(1 << 20, File::options().read(true).open(path)?);
    let mut line = Vec::new();
    (&mut file).take(MOST_HEAD).read_until(b'\n', &mut line)?;
    let head: Head = serde_json::from_slice(&line)?;
    if head.format != FORMAT {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((head, file))
}

/// Returns the entry of a file: a drive, or a file with the name of one that is damaged or of another version.
fn entry(path: PathBuf) -> io::Result<Entry> {
    let key = match open(&path) {
        Ok((head, _)) => Some(head.key),
        Err(_) if has_name_of_a_drive(&path) => None,
        Err(error) => return Err(error),
    };
    let meta = fs::metadata(&path)?;
    let used = meta.modified()?;
    let at = |place: &str| key.as_ref().and_then(|key| key.pointer(place));
    let text = |place: &str| at(place).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Entry {
        path,
        used,
        device: if key.is_some() { text("/device") } else { "(unreadable)".to_owned() },
        workload: text("/workload/path"),
        precondition: text("/workload/precondition"),
        seed: at("/seed").and_then(Value::as_u64).unwrap_or(0),
        bytes: meta.len(),
        used_unix_seconds: seconds(used).map_or(0, |d| d.as_secs()),
    })
}

fn has_name_of_a_drive(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name.len() == NAME && name.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Fails when more is written than a limit.
struct Limited<'a> {
    to: &'a mut dyn Write,
    limit: u64,
    taken: u64,
}

impl Write for Limited<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.taken += buffer.len() as u64;
        if self.taken > self.limit {
            return Err(io::Error::other(format!("it is larger than {}", bytes(self.limit))));
        }
        self.to.write_all(buffer)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
