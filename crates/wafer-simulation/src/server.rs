//! The simulated server: what `wafer serve` runs, on the simulated network, disk and clock.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use wafer_controller::{Subsystem, SubsystemOptions};
use wafer_device::DeviceConfig;
use wafer_drive::{Drive, DriveError, DriveOptions, Environment};
use wafer_storage::DataSpec;
use wafer_target::transport::{Server, ServerOptions};

use crate::clock::{SeededRandom, SimulatedClock};
use crate::disk::{DATA, Disk};
use crate::model::{Found, Reported, SECTOR};
use crate::network::SimulatedListener;
use crate::world::{Running, World};

/// NQN of the subsystem.
pub(crate) const NQN: &str = "nqn.2026-11.io.wafer:simulated";

/// Creates a drive of a few MiB, most of which hosts overwrite, so that garbage is collected constantly.
fn config() -> DeviceConfig {
    serde_json::from_value(serde_json::json!({
        "capacity": "4MiB", "reclaim_unit": { "size": "1MiB", "count": 14 }, "handles": 4,
        "namespaces": [{ "size": "1MiB", "handles": [0, 1] }, { "size": "1MiB", "handles": [2] }],
    }))
    .expect("a configuration")
}

/// Opens the drive on the disk of a world.
///
/// # Errors
/// Its files cannot be used.
pub(crate) fn open(world: &World) -> Result<Drive, DriveError> {
    let seed = world.plan.seed;
    let options = DriveOptions {
        device: config(),
        seed,
        data: DataSpec::File(DATA.into()),
        lba_bytes: if seed.is_multiple_of(2) { 4096 } else { 512 },
        events_enabled: true,
        given: Default::default(),
    };
    let random = SeededRandom::new(seed ^ world.disk.fingerprint().0);
    let environment = Environment {
        storage: Arc::new(world.disk.storage.clone()),
        clock: Arc::new(SimulatedClock),
        random: Arc::new(random),
    };
    Drive::with(options, environment)
}

/// Serves until the simulation ends: opens the drive, serves it until it is stopped, closes it, and starts over.
///
/// # Errors
/// The port is taken.
pub(crate) async fn run(world: Arc<World>) -> turmoil::Result {
    loop {
        let injected = world.disk.injected();
        let drive = match world.disk.apart(|| open(&world)) {
            Ok(drive) => drive,
            Err(error) => {
                refused(&world, &error, world.disk.injected() > injected);
                sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        if let Some(replaced) = world.take_replaced() {
            world.violation(format!("a server starts with {}", replaced.what));
        }
        let drive = Arc::new(drive);
        check(&world, &drive);
        world.event(format_args!("server: starts; {:?}", drive.notices()));
        let subsystem = Subsystem::new(
            Arc::clone(&drive),
            wafer_io::SUPPORTED,
            SubsystemOptions {
                nqn: NQN.to_owned(),
                serial: "1".to_owned(),
                model: "simulated".to_owned(),
                refuse_invalid_placement: false,
                advertise: Vec::new(),
            },
        );
        let (stop, stopping) = watch::channel(false);
        world.set_running(Some(Running { subsystem: Arc::clone(&subsystem), stop }));
        let listener = SimulatedListener::bind(world.disk.clone()).await?;
        let options = ServerOptions { timeout: Duration::from_secs(2), ..ServerOptions::default() };
        let watching = tokio::spawn(world.disk.clone().watch());
        let maintenance = tokio::spawn(maintain(Arc::clone(&drive), world.disk.clone()));
        Server::new(listener, options).run(subsystem, stopping).await;
        maintenance.abort();
        watching.abort();
        world.set_running(None);
        let closed = world.disk.apart(|| drive.close());
        world.event(format_args!("server: ends; {closed:?}"));
        drop(drive);
        world.model().server_gone(false);
        sleep(Duration::from_millis(5)).await;
    }
}

async fn maintain(drive: Arc<Drive>, disk: Disk) {
    loop {
        sleep(Duration::from_millis(200)).await;
        // The server reports errors, and the model detects their consequences.
        let _ = disk.apart(|| drive.maintain());
    }
}

/// Handles a drive that cannot be opened, which is right if its files were replaced or the disk failed.
fn refused(world: &World, error: &DriveError, injected: bool) {
    world.event(format_args!("server: refuses to start: {error}"));
    if world.disk.is_dead() {
        return;
    }
    match world.take_replaced() {
        Some(replaced) => {
            for (path, contents) in replaced.files {
                world.disk.storage.replace(&path, contents);
            }
        }
        None if injected => {}
        None => world.violation(format!("the server does not start: {error}")),
    }
}

/// Compares a newly opened drive with the model.
fn check(world: &World, drive: &Drive) {
    world
        .check(drive.check_invariants().map_err(|e| format!("the device contradicts itself: {e}")));
    let found: Vec<Found> = drive
        .namespaces()
        .iter()
        .flatten()
        .map(|namespace| Found {
            nsid: namespace.nsid,
            lba_bytes: namespace.lba_bytes(),
            sectors: namespace.bytes / SECTOR as u64,
        })
        .collect();
    let mut model = world.model();
    let wrong = model.restarted(&found);
    let counted = counters(drive);
    let written = model.written();
    let result = model.check_counters(counted, written);
    drop(model);
    for wrong in wrong {
        world.violation(wrong);
    }
    world.check(result);
}

/// Returns the counters that the model tracks.
pub(crate) fn counters(drive: &Drive) -> Reported {
    let counters = drive.counters();
    Reported {
        host_bytes: counters.lifetime.host_bytes,
        reads: counters.life.read_commands,
        writes: counters.life.write_commands,
    }
}
