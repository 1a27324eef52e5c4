//! The server: a process of `wafer serve` to start, stop and kill.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};

/// NQN of the subsystem.
pub(crate) const NQN: &str = "nqn.2026-11.io.wafer:soak";
/// Time limit for a server to start and to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// How servers are started.
pub(crate) struct Launcher {
    pub(crate) wafer: PathBuf,
    /// The library built from `faults.c`.
    pub(crate) preload: PathBuf,
    pub(crate) control: PathBuf,
    pub(crate) device: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) address: SocketAddr,
    pub(crate) log: PathBuf,
}

/// A running server that accepts hosts.
pub(crate) struct Server {
    child: Child,
    pub(crate) began: Instant,
}

impl Launcher {
    /// Starts a server, and waits until hosts can connect.
    ///
    /// # Errors
    /// It ended, or takes too long.
    pub(crate) fn start(&self) -> anyhow::Result<Server> {
        let mut child = self.spawn()?;
        let (send, ready) = mpsc::channel();
        let out = child.stdout.take().context("no stdout")?;
        std::thread::spawn(move || {
            let mut lines = BufReader::new(out).lines();
            let first = lines.next();
            let _ = send.send(first.is_some());
            // Whatever else it prints.
            lines.for_each(drop);
        });
        match ready.recv_timeout(PATIENCE) {
            Ok(true) => Ok(Server { child, began: Instant::now() }),
            Ok(false) => bail!("the server ended at its start: {}", child.wait()?),
            Err(_) => {
                child.kill()?;
                child.wait()?;
                bail!("the server did not start within {PATIENCE:?}")
            }
        }
    }

    /// Starts a server, and kills it before hosts can connect, or shortly after.
    pub(crate) fn start_and_kill(&self, after: Duration) -> anyhow::Result<()> {
        let mut child = self.spawn()?;
        std::thread::sleep(after);
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    fn spawn(&self) -> anyhow::Result<Child> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        let mut data = std::ffi::OsString::from("file:");
        data.push(&self.data);
        Command::new(&self.wafer)
            .args(["serve", "--json", "--nqn", NQN, "--serial", "SOAK", "--device"])
            .arg(&self.device)
            .arg("--data")
            .arg(data)
            .args(["--listen", &self.address.to_string()])
            .env("LD_PRELOAD", &self.preload)
            .env("WAFER_SOAK_FAULTS", &self.control)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| self.wafer.display().to_string())
    }
}

impl Server {
    /// Returns its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns how it ended, if it did.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Kills it.
    pub(crate) fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(|_| ())
    }

    /// Asks it to end, and returns how it did.
    ///
    /// # Errors
    /// It does not end.
    pub(crate) fn stop(mut self) -> anyhow::Result<ExitStatus> {
        let process =
            i32::try_from(self.pid()).ok().and_then(Pid::from_raw).context("no process")?;
        kill_process(process, Signal::TERM)?;
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.kill()?;
        bail!("the server did not end within {PATIENCE:?} of SIGTERM")
    }
}

/// Returns the number of open files of a process.
pub(crate) fn descriptors(pid: u32) -> io::Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.count())
}

/// Returns the resident memory of a process, KiB.
pub(crate) fn resident(pid: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok());
    kib.ok_or_else(|| io::Error::other("no VmRSS"))
}
