//! A drive that hosts use: its live page, `wafer serve --http`, and its record at the end.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wafer_drive::Drive;
use wafer_lab::{LabError, ResolvedDevice, load_device};
use wafer_record::record::Provenance;
use wafer_record::{Connection, Kind, ReclaimUnits, Record, Series, Snapshot, Timeline};
use wafer_target::controller::Subsystem;
use wafer_web::live::{Config, LiveSource, Server};

use crate::args::{HttpArgs, ServeArgs};
use crate::output;

/// Time between two states of the page.
const INTERVAL: Duration = Duration::from_millis(500);

struct DriveSource {
    subsystem: Arc<Subsystem>,
    provenance: Provenance,
}

/// Serves the page of a drive, where it was asked for.
pub(crate) fn of_drive(
    args: &HttpArgs,
    device: &ResolvedDevice,
    subsystem: &Arc<Subsystem>,
    quiet: bool,
) -> anyhow::Result<Option<Server>> {
    let Some(listen) = args.http else { return Ok(None) };
    let provenance = device.provenance(Kind::Live, SystemTime::now());
    let source = Arc::new(DriveSource { subsystem: subsystem.clone(), provenance });
    let config = Config { listen, token: args.http_token.clone(), interval: INTERVAL };
    let server = wafer_web::live::serve(source, &config)
        .map_err(|e| LabError::config("--http", e.to_string()))?;
    output::notice(quiet, &format!("live page: {}", server.url));
    Ok(Some(server))
}

/// Returns the record of a drive that is no longer served.
pub(crate) fn record(args: &ServeArgs, drive: &Drive) -> anyhow::Result<Record> {
    let device = load_device(&args.device, &args.set)?;
    let mut now = drive.snapshot();
    now.live.state = "ended".to_owned();
    now.reclaim_units = Some(drive.reclaim_units());
    let handles = now.handles.iter().filter(|(_, c)| c.media_bytes > 0).map(|(key, c)| {
        (*key, Series { host_bytes: vec![c.host_bytes], media_bytes: vec![c.media_bytes] })
    });
    let timeline = Timeline {
        host_bytes: vec![now.counters.host_bytes],
        media_bytes: vec![now.counters.media_bytes],
        seconds: vec![now.seconds],
        handles: handles.collect(),
        ..Timeline::default()
    };
    let provenance = device.provenance(Kind::Drive, SystemTime::now());
    Ok(Record::of_snapshot(args.nqn.clone(), provenance, now, timeline))
}

impl LiveSource for DriveSource {
    fn name(&self) -> String {
        self.subsystem.options.nqn.clone()
    }

    fn provenance(&self) -> Provenance {
        self.provenance.clone()
    }

    fn snapshot(&self) -> Snapshot {
        let mut now = self.subsystem.drive.snapshot();
        let connection = |c: wafer_target::controller::ControllerInfo| Connection {
            peer: format!("controller {}", c.cntlid),
            host: c.hostnqn,
            queues: u32::try_from(c.io_queues).unwrap_or(u32::MAX),
            commands: c.commands,
        };
        let infos = self.subsystem.controller_infos();
        now.live.connections = infos.into_iter().map(connection).collect();
        now
    }

    fn reclaim_units(&self) -> Option<ReclaimUnits> {
        Some(self.subsystem.drive.reclaim_units())
    }
}
