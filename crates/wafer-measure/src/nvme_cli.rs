//! Reads logs through nvme-cli's JSON.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Counter, Reading, Source};

/// A drive read through nvme-cli.
#[derive(Clone, Debug)]
pub struct NvmeCli {
    /// The program, `nvme` or a path.
    pub program: String,
    /// The drive, such as `/dev/nvme0`.
    pub device: String,
    /// Endurance group whose counters are read.
    pub endurance_group: u16,
    /// Timeout of a call.
    pub timeout: Duration,
}

/// Identification of a drive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Model number.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Total NVM capacity in bytes; none if the drive does not report it.
    pub capacity_bytes: Option<u64>,
}

impl NvmeCli {
    /// Returns the version line of nvme-cli.
    ///
    /// # Errors
    /// One line, if nvme-cli cannot be started or fails.
    pub fn version(&self) -> Result<String, String> {
        let text = self.text(&["version"])?;
        Ok(text.lines().next().unwrap_or_default().trim().to_owned())
    }

    /// Returns the identification of the drive; empty if it cannot be read.
    pub fn identify(&self) -> Identity {
        let Ok(value) = self.json(&["id-ctrl", &self.device]) else { return Identity::default() };
        let text = |key: &str| {
            let text = value.get(key)?.as_str()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let capacity = value.get("tnvmcap").and_then(whole).and_then(|c| u64::try_from(c).ok());
        Identity {
            model: text("mn"),
            serial: text("sn"),
            firmware: text("fr"),
            capacity_bytes: capacity.filter(|bytes| *bytes > 0),
        }
    }

    /// Returns the first source that the drive supports, with its reading.
    ///
    /// # Errors
    /// If no source can be read: one line with the reason for each.
    pub fn detect(&self) -> Result<(Source, Reading), String> {
        let mut reasons = Vec::new();
        for source in Source::ALL {
            match self.read(source) {
                Ok(reading) => return Ok((source, reading)),
                Err(reason) => reasons.push(format!("{source}: {reason}")),
            }
        }
        Err(reasons.join("; "))
    }

    /// Reads the counters.
    ///
    /// # Errors
    /// One line, if nvme-cli fails, takes too long, or its output lacks the counters.
    pub fn read(&self, source: Source) -> Result<Reading, String> {
        let group = self.endurance_group.to_string();
        let counter = |log: &Value, key: &str, unit_bytes: u64| {
            field(log, key).map(|units| Counter { units, unit_bytes })
        };
        let unit = source.unit_bytes();
        match source {
            Source::Fdp => {
                let log = self.json(&["fdp", "stats", &self.device, "-e", &group])?;
                Ok(Reading {
                    host: counter(&log, "hbmw", unit)?,
                    media: counter(&log, "mbmw", unit)?,
                    erased: Some(counter(&log, "mbe", unit)?),
                    one_log: true,
                })
            }
            Source::Ocp => {
                let cloud = self.json(&["ocp", "smart-add-log", &self.device])?;
                let smart = self.json(&["smart-log", &self.device])?;
                Ok(Reading {
                    host: counter(&smart, "data_units_written", unit)?,
                    media: counter(&cloud, "physical_media_units_written", 1)?,
                    erased: None,
                    one_log: false,
                })
            }
            Source::EnduranceGroup => {
                let log = self.json(&["endurance-log", &self.device, "-g", &group])?;
                let media = counter(&log, "media_units_written", unit)?;
                if media.units == 0 {
                    return Err("media units written are not reported".to_owned());
                }
                Ok(Reading {
                    host: counter(&log, "data_units_written", unit)?,
                    media,
                    erased: None,
                    one_log: true,
                })
            }
        }
    }

    fn json(&self, arguments: &[&str]) -> Result<Value, String> {
        let text = self.text(&[arguments, &["-o", "json"]].concat())?;
        serde_json::from_str(&text).map_err(|e| format!("`{}`: not JSON: {e}", arguments.join(" ")))
    }

    /// Returns stdout of a call.
    fn text(&self, arguments: &[&str]) -> Result<String, String> {
        let call = format!("{} {}", self.program, arguments.join(" "));
        let mut child = Command::new(&self.program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => {
                    format!(
                        "no program `{}`; install nvme-cli or name it with --nvme-cli",
                        self.program
                    )
                }
                _ => format!("`{call}`: {e}"),
            })?;
        // Read while waiting: a full pipe would block the child.
        let out = reader(child.stdout.take());
        let err = reader(child.stderr.take());
        let status = wait(&mut child, self.timeout).ok_or_else(|| {
            format!("`{call}` took more than {:.1} s", self.timeout.as_secs_f64())
        })?;
        let out = out.join().unwrap_or_default();
        let err = err.join().unwrap_or_default();
        if !status.success() {
            let words = err.trim().lines().next().unwrap_or("no message").to_owned();
            return Err(format!("`{call}`: {status}: {words}"));
        }
        Ok(out)
    }
}

fn reader(pipe: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    /// Maximum bytes of output; a log in JSON has some kilobytes.
    const MOST: u64 = 16 << 20;
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // After an error, use the text read before it.
            let _ = pipe.take(MOST).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for a child; after the timeout, kills it and returns none.
fn wait(child: &mut Child, timeout: Duration) -> Option<std::process::ExitStatus> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if start.elapsed() < timeout => std::thread::sleep(pause),
            _ => {
                // Killing fails if the child has just ended.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Returns a whole number of a log. Versions of nvme-cli write 128 bits as a number, a string or two
/// halves. They also differ in the case and spacing of keys, which are ignored.
fn field(log: &Value, key: &str) -> Result<u128, String> {
    let plain = |name: &str| name.to_lowercase().replace([' ', '-'], "_");
    let object = log.as_object().ok_or("the log is not a JSON object")?;
    let value = object.iter().find(|(name, _)| plain(name) == key).map(|(_, value)| value);
    let value = value.ok_or_else(|| format!("the log has no `{key}`"))?;
    whole(value).ok_or_else(|| format!("`{key}` is not a whole number: {value}"))
}

fn whole(value: &Value) -> Option<u128> {
    match value {
        // A number beyond 64 bits is rounded to 53 bits.
        Value::Number(n) => n
            .as_u64()
            .map(u128::from)
            .or_else(|| n.as_f64().filter(|f| *f >= 0.0 && f.is_finite()).map(|f| f as u128)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Object(halves) => {
            let half = |key: &str| halves.get(key).and_then(Value::as_u64).map(u128::from);
            Some(half("hi")? << 64 | half("lo")?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::*;

    /// Returns an nvme-cli that is a shell script.
    fn fake(script: &str) -> (tempfile::TempDir, NvmeCli) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nvme").display().to_string();
        // By another process: if the file were open for writing here, a test that forks would keep it busy.
        let install = "printf '#!/bin/sh\n%s\n' \"$1\" >\"$0\" && chmod 755 \"$0\"";
        assert!(
            Command::new("sh").args(["-c", install, &path, script]).status().unwrap().success()
        );
        let cli = NvmeCli {
            program: path,
            device: "/dev/nvme0".to_owned(),
            endurance_group: 2,
            timeout: Duration::from_secs(20),
        };
        (folder, cli)
    }

    #[test]
    fn fdp_statistics_as_nvme_cli_writes_them() {
        let (_folder, cli) = fake(
            r#"[ "$*" = "fdp stats /dev/nvme0 -e 2 -o json" ] || { echo "args: $*" >&2; exit 1; }
            printf '{\n  "hbmw":956637184,\n  "mbmw":974405632,\n  "mbe":0\n}\n'"#,
        );
        let reading = cli.read(Source::Fdp).unwrap();
        let bytes = |units| Counter { units, unit_bytes: 1 };
        let expected = (bytes(956_637_184), bytes(974_405_632), Some(bytes(0)));
        assert_eq!((reading.host, reading.media, reading.erased), expected);
        assert_eq!(cli.detect().unwrap().0, Source::Fdp);
    }

    #[test]
    fn a_drive_without_fdp_is_read_otherwise() {
        let (_folder, cli) = fake(
            r#"case "$1" in
            fdp) echo "NVMe status: Invalid Field in Command" >&2; exit 1;;
            ocp) echo '{"Physical media units written":{"hi":1,"lo":5}}';;
            smart-log) echo '{"data_units_written":"1000"}';;
            esac"#,
        );
        let (source, reading) = cli.detect().unwrap();
        let host = Counter { units: 1000, unit_bytes: 512_000 };
        assert_eq!((source, reading.host, reading.one_log), (Source::Ocp, host, false));
        let media = Counter { units: (1 << 64) + 5, unit_bytes: 1 };
        assert_eq!((reading.media, reading.erased), (media, None));
    }

    #[test]
    fn failures_are_one_line_with_the_reason() {
        let (_folder, cli) = fake("echo 'No such device' >&2; echo more >&2; exit 2");
        let message = cli.read(Source::Fdp).unwrap_err();
        assert!(message.ends_with("exit status: 2: No such device"), "{message}");
        assert_eq!(cli.detect().unwrap_err().lines().count(), 1);
        let (_folder, mut cli) = fake("sleep 30");
        cli.timeout = Duration::from_millis(100);
        assert!(cli.read(Source::Fdp).unwrap_err().ends_with("took more than 0.1 s"));
        let (_folder, cli) = fake("echo nonsense");
        assert!(cli.read(Source::Fdp).unwrap_err().contains("not JSON"));
        let cli = NvmeCli { program: "/nonexistent/nvme".to_owned(), ..cli };
        assert!(cli.read(Source::Fdp).unwrap_err().contains("install nvme-cli"));
    }

    #[test]
    fn counters_come_in_many_shapes() {
        let read =
            |value: Value| field(&json!({ "Media Units-Written": value }), "media_units_written");
        assert_eq!(read(json!(7)), Ok(7));
        assert_eq!(read(json!("340282366920938463463374607431768211455")), Ok(u128::MAX));
        assert_eq!(read(json!({ "hi": 0, "lo": 9 })), Ok(9));
        assert!(
            read(json!(-1)).is_err() && read(json!("x")).is_err() && read(json!(null)).is_err()
        );
        assert!(field(&json!([]), "a").is_err() && field(&json!({}), "a").is_err());
    }
}
