//! A target in the same process.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use wafer_controller::{Access, Subsystem, SubsystemOptions};
use wafer_device::DeviceConfig;
use wafer_drive::{Drive, DriveOptions};
use wafer_host::{Host, HostOptions};
use wafer_storage::DataSpec;
use wafer_target::transport::{Server, ServerOptions};

pub(crate) const NQN: &str = "nqn.2026-11.io.wafer:test";

pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) drive: Arc<Drive>,
    pub(crate) subsystem: Arc<Subsystem>,
    stop: watch::Sender<bool>,
    runtime: Option<tokio::runtime::Runtime>,
    task: Option<tokio::task::JoinHandle<()>>,
}

pub(crate) fn config(capacity: &str) -> DeviceConfig {
    serde_json::from_value(serde_json::json!({
        "capacity": capacity, "reclaim_unit": { "size": "1MiB" }, "overprovisioning": 0.4, "handles": 4,
    }))
    .unwrap()
}

impl Target {
    pub(crate) fn start(data: DataSpec) -> Target {
        Self::with(config("64MiB"), data, false, Duration::from_secs(30))
    }

    pub(crate) fn with(
        device: DeviceConfig,
        data: DataSpec,
        refuse: bool,
        timeout: Duration,
    ) -> Target {
        let options = ServerOptions { timeout, ..ServerOptions::default() };
        Self::with_options(device, data, refuse, options, Access::default())
    }

    pub(crate) fn with_options(
        device: DeviceConfig,
        data: DataSpec,
        refuse: bool,
        options: ServerOptions,
        access: Access,
    ) -> Target {
        let drive = Arc::new(
            Drive::new(DriveOptions {
                device,
                seed: 0,
                data,
                lba_bytes: 4096,
                events_enabled: true,
                given: Default::default(),
            })
            .unwrap(),
        );
        let subsystem = Subsystem::with_access(
            Arc::clone(&drive),
            wafer_io::SUPPORTED,
            SubsystemOptions {
                nqn: NQN.to_owned(),
                serial: "TEST".to_owned(),
                model: "wafer test".to_owned(),
                refuse_invalid_placement: refuse,
                advertise: Vec::new(),
            },
            access,
        );
        Self::of(subsystem, options)
    }

    pub(crate) fn of(subsystem: Arc<Subsystem>, options: ServerOptions) -> Target {
        let drive = Arc::clone(&subsystem.drive);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (stop, stopping) = watch::channel(false);
        let guard = runtime.enter();
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), options).unwrap();
        let address = server.local_addrs().unwrap()[0];
        let task = runtime.spawn(server.run(Arc::clone(&subsystem), stopping));
        drop(guard);
        Target { address, drive, subsystem, stop, runtime: Some(runtime), task: Some(task) }
    }

    pub(crate) fn host(&self, name: &str) -> Host {
        Host::connect(self.address, HostOptions::new(NQN, name)).unwrap()
    }

    /// Shuts the server down cleanly; fails if it does not end.
    pub(crate) fn stop(mut self) {
        self.stop.send_replace(true);
        let (runtime, task) = (self.runtime.take().unwrap(), self.task.take().unwrap());
        runtime.block_on(async {
            tokio::time::timeout(Duration::from_secs(10), task).await.expect("it ends").unwrap();
        });
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}
