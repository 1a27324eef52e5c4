//! The live page of a run, `--http`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use wafer_lab::record::Provenance;
use wafer_lab::{Checked, LabError, ReclaimUnits, Stage, View};
use wafer_live::{Config, LiveSource, Server, Snapshot};

use super::live_events::{self, RunEvents};
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
    provenance: Value,
    started: Instant,
    newest: Mutex<Newest>,
}

#[derive(Default)]
struct Newest {
    view: Option<View>,
    events: RunEvents,
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
    let provenance = Provenance::of(experiment, SystemTime::now(), checked.ignored.clone());
    let source = Arc::new(RunSource {
        name: experiment.name.clone(),
        provenance: serde_json::to_value(provenance)?,
        started: Instant::now(),
        newest: Mutex::default(),
    });
    let config = Config { listen, token: args.http_token.clone(), interval: INTERVAL };
    let server = wafer_live::serve(source.clone(), &config)
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
    pub(crate) fn show(&self, view: View) {
        let mut newest = self.lock();
        newest.events.take(&view, self.started.elapsed().as_secs_f64());
        newest.view = Some(view);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Newest> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveSource for RunSource {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn provenance(&self) -> Value {
        self.provenance.clone()
    }

    fn snapshot(&self) -> Snapshot {
        let newest = self.lock();
        let Some(view) = &newest.view else {
            return Snapshot { state: "starting".to_owned(), ..Snapshot::default() };
        };
        let state = match view.stage {
            _ if newest.ended => "ended",
            Stage::Preconditioning => "preconditioning",
            Stage::Running => "running",
        };
        let units = &view.reclaim_units;
        let open = units.open.len() as u64;
        let free = units.owner.iter().filter(|owner| **owner < 0).count() as u64;
        let all = units.owner.len() as u64;
        // A thinned table counts each for `stride` of them.
        let stride = u64::from(units.stride);
        Snapshot {
            state: state.to_owned(),
            counters: view.counters,
            handles: view.handles.clone(),
            gc: view.gc,
            reclaim_units: [free * stride, open * stride, (all - free - open) * stride],
            event_counts: live_events::counts(view),
            events: newest.events.newest(),
            ..Snapshot::default()
        }
    }

    fn reclaim_units(&self) -> Option<ReclaimUnits> {
        Some(self.lock().view.as_ref()?.reclaim_units.clone())
    }
}
