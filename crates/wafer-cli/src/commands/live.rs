//! The live page of a run or a drive (`--http`).

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use wafer_config::ResolvedDevice;
use wafer_controller::{ControllerInfo, Subsystem};
use wafer_lab::{Checked, LabError};
use wafer_record::record::Provenance;
use wafer_record::{Connection, Kind, Live, ReclaimUnits, Snapshot};
use wafer_target::control::{Response, answer};
use wafer_web::live::{Config, Limits, LiveSource, Server, serve};

use crate::args::{HttpArgs, token};
use crate::cancel::is_cancelled;
use wafer_output as output;

/// Interval at which the page is updated.
const INTERVAL: Duration = Duration::from_millis(500);

/// A run with its live page.
pub(crate) struct LiveRun {
    pub(crate) source: Arc<RunSource>,
    _server: Server,
}

/// The latest snapshot of a run.
pub(crate) struct RunSource {
    name: String,
    provenance: Provenance,
    newest: Mutex<Snapshot>,
}

struct DriveSource {
    subsystem: Arc<Subsystem>,
    /// The drive after its precondition, which its page excludes.
    before: Snapshot,
    provenance: Provenance,
}

/// Serves the page of a single run, if `--http` is given.
pub(crate) fn of_run(
    args: &HttpArgs,
    checked: &[Checked],
    quiet: bool,
) -> anyhow::Result<Option<LiveRun>> {
    let [checked] = checked else {
        if args.http.is_none() {
            return Ok(None);
        }
        let reason = format!("shows one run, and these are {}", checked.len());
        return Err(LabError::config("--http", reason).into());
    };
    let experiment = &checked.experiment;
    let live = Live { state: "starting".to_owned(), ..Live::default() };
    let source = Arc::new(RunSource {
        name: experiment.name.clone(),
        provenance: experiment.provenance(SystemTime::now(), checked.ignored.clone()),
        newest: Mutex::new(Snapshot { live, ..Snapshot::default() }),
    });
    let server = page(args, None, source.clone(), quiet)?;
    Ok(server.map(|server| LiveRun { source, _server: server }))
}

/// Serves the page of a drive, if `--http` is given.
pub(crate) fn of_drive(
    args: &HttpArgs,
    control: Option<&Path>,
    device: &ResolvedDevice,
    subsystem: &Arc<Subsystem>,
    before: Snapshot,
    quiet: bool,
) -> anyhow::Result<Option<Server>> {
    let provenance = Provenance {
        seed: Some(subsystem.drive.seed()),
        ..wafer_lab::provenance(device, Kind::Live, SystemTime::now())
    };
    let source = DriveSource { subsystem: subsystem.clone(), before, provenance };
    page(args, control, Arc::new(source), quiet)
}

/// Reads the token for requests of operators.
fn read_token(path: &Path) -> Result<String, LabError> {
    let wrong = |reason: String| LabError::config(path.display().to_string(), reason);
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    token(text.trim_end()).map_err(wrong)
}

fn page(
    args: &HttpArgs,
    control: Option<&Path>,
    source: Arc<dyn LiveSource>,
    quiet: bool,
) -> anyhow::Result<Option<Server>> {
    let Some(listen) = args.http else { return Ok(None) };
    let token = args.http_token.clone();
    let control = control.map(read_token).transpose()?;
    let config = Config { listen, token, control, interval: INTERVAL, limits: Limits::default() };
    let server = serve(source, &config).map_err(|e| LabError::config("--http", e.to_string()))?;
    output::notice(quiet, &format!("live page: {}", server.url));
    Ok(Some(server))
}

impl LiveRun {
    /// Serves the final state of the run until Ctrl-C.
    pub(crate) fn linger(self, quiet: bool) {
        self.source.newest().live.state = "ended".to_owned();
        if !is_cancelled() {
            output::notice(quiet, "the run has ended; the page is served until Ctrl-C");
        }
        while !is_cancelled() {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl RunSource {
    pub(crate) fn show(&self, snapshot: Snapshot) {
        *self.newest() = snapshot;
    }

    fn newest(&self) -> MutexGuard<'_, Snapshot> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveSource for RunSource {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn provenance(&self) -> Provenance {
        self.provenance.clone()
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { reclaim_units: None, ..self.newest().clone() }
    }

    fn reclaim_units(&self) -> Option<ReclaimUnits> {
        self.newest().reclaim_units.clone()
    }
}

impl LiveSource for DriveSource {
    fn name(&self) -> String {
        self.subsystem.options.nqn.clone()
    }

    fn provenance(&self) -> Provenance {
        self.provenance.clone()
    }

    fn snapshot(&self) -> Snapshot {
        let mut now = self.subsystem.drive.snapshot().since(&self.before);
        let connection = |c: ControllerInfo| Connection {
            peer: format!("controller {}", c.cntlid),
            host: c.hostnqn,
            queues: u32::try_from(c.io_queues).unwrap_or(u32::MAX),
            commands: c.commands,
        };
        let controllers = self.subsystem.controller_infos();
        now.live.connections = controllers.into_iter().map(connection).collect();
        now
    }

    fn reclaim_units(&self) -> Option<ReclaimUnits> {
        Some(self.subsystem.drive.reclaim_units())
    }

    fn control(&self, request: &[u8]) -> (u16, String) {
        let response = answer(request, &self.subsystem);
        let status = match &response {
            Response::Done(_) => 200,
            Response::Refused(_) => 400,
            Response::Failed(_) => 500,
        };
        match serde_json::to_string(&response) {
            Ok(text) => (status, text),
            Err(error) => (500, error.to_string()),
        }
    }
}
