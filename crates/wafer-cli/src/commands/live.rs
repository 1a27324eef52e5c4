//! The live page of a run, `--http`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use wafer_lab::{Checked, LabError};
use wafer_record::record::Provenance;
use wafer_record::{Live as State, ReclaimUnits, Snapshot};
use wafer_web::live::{Config, LiveSource, Server};

use super::run::CANCEL;
use crate::args::HttpArgs;
use crate::output;

/// Time between two states of the page.
const INTERVAL: Duration = Duration::from_millis(500);

/// A run that is shown.
pub(crate) struct Live {
    pub(crate) source: Arc<RunSource>,
    _server: Server,
}

/// The newest look at the device of a run.
pub(crate) struct RunSource {
    name: String,
    provenance: Provenance,
    newest: Mutex<Newest>,
}

#[derive(Default)]
struct Newest {
    snapshot: Option<Snapshot>,
    ended: bool,
}

/// Serves the page of a single run, where it was asked for.
pub(crate) fn of_run(
    args: &HttpArgs,
    checked: &[Checked],
    quiet: bool,
) -> anyhow::Result<Option<Live>> {
    let Some(listen) = args.http else { return Ok(None) };
    let [checked] = checked else {
        let reason = format!("shows one run, and these are {}", checked.len());
        return Err(LabError::config("--http", reason).into());
    };
    let experiment = &checked.experiment;
    let provenance = experiment.provenance(SystemTime::now(), checked.ignored.clone());
    let source =
        Arc::new(RunSource { name: experiment.name.clone(), provenance, newest: Mutex::default() });
    let config = Config { listen, token: args.http_token.clone(), interval: INTERVAL };
    let server = wafer_web::live::serve(source.clone(), &config)
        .map_err(|e| LabError::config("--http", e.to_string()))?;
    output::notice(quiet, &format!("live page: {}", server.url));
    Ok(Some(Live { source, _server: server }))
}

impl Live {
    /// Shows the end of the run until Ctrl-C.
    pub(crate) fn linger(self, quiet: bool) {
        self.source.lock().ended = true;
        if !CANCEL.load(Ordering::Relaxed) {
            output::notice(quiet, "the run has ended; the page is served until Ctrl-C");
        }
        while !CANCEL.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl RunSource {
    /// Takes the device as it is now.
    pub(crate) fn show(&self, snapshot: Snapshot) {
        self.lock().snapshot = Some(snapshot);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Newest> {
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
        let newest = self.lock();
        let Some(snapshot) = &newest.snapshot else {
            let live = State { state: "starting".to_owned(), ..State::default() };
            return Snapshot { live, ..Snapshot::default() };
        };
        let mut snapshot = Snapshot { reclaim_units: None, ..snapshot.clone() };
        if newest.ended {
            snapshot.live.state = "ended".to_owned();
        }
        snapshot
    }

    fn reclaim_units(&self) -> Option<ReclaimUnits> {
        self.lock().snapshot.as_ref()?.reclaim_units.clone()
    }
}
