//! Several subsystems at the ports of one server: discovery, access and isolation.

use std::sync::Arc;

use wafer_controller::{Access, Rights, Subsystem, SubsystemOptions};
use wafer_drive::{Drive, DriveOptions};
use wafer_host::{Admin, Host, HostOptions, Io};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::control::{Response, answer};
use wafer_target::transport::ServerOptions;

use crate::common::{NQN, Target, config};

const OTHER: &str = "nqn.2026-11.io.wafer:other";
const IO: Io = Io { nsid: 1 };

fn subsystem(nqn: &str, capacity: &str, access: Access) -> Arc<Subsystem> {
    let options = DriveOptions {
        device: config(capacity),
        seed: 0,
        data: DataSpec::Memory,
        lba_bytes: 4096,
        events_enabled: false,
        given: Default::default(),
    };
    let drive = Arc::new(Drive::new(options).unwrap());
    let mut options = SubsystemOptions::of_drive(&drive, "test");
    options.nqn = nqn.to_owned();
    Subsystem::with_access(drive, wafer_io::SUPPORTED, options, access)
}

/// Serves two subsystems; hosts named `guest` may use only the second one.
fn start() -> (Target, Arc<Subsystem>) {
    let admin = [(HostOptions::new(NQN, "admin").hostnqn, Rights { manage: true }.into())];
    let first = subsystem(NQN, "64MiB", Access::Listed(admin.into()));
    let second = subsystem(OTHER, "32MiB", Access::default());
    first.offer(vec![Arc::clone(&second)]);
    (Target::of(first, ServerOptions::default()), second)
}

#[test]
fn discovery_lists_every_subsystem() {
    let (target, _second) = start();
    let mut host = Host::connect(target.address, HostOptions::new(DISCOVERY_NQN, "guest")).unwrap();
    let command = Admin::log(Lid::DISCOVERY, 0, 0, 4096);
    let page = host.admin.execute(command, &[], 4096).unwrap().data;
    let (head, mut rest) = DiscoveryLog::read_from_prefix(&page).unwrap();
    let mut found = Vec::new();
    for _ in 0..head.numrec.get() {
        let (entry, after) = DiscoveryEntry::read_from_prefix(rest).unwrap();
        let name = nqn(&entry.subnqn).unwrap().to_owned();
        found.push((entry.subtype, entry.portid.get(), name));
        rest = after;
    }
    let nvm = |nqn: &str| (Subtype::NVM.0, 1, nqn.to_owned());
    let own = (Subtype::CURRENT_DISCOVERY.0, 1, DISCOVERY_NQN.to_owned());
    assert_eq!(found, [own, nvm(NQN), nvm(OTHER)]);
}

#[test]
fn hosts_of_two_subsystems_share_nothing() {
    let (target, second) = start();
    let connect =
        |nqn: &str, name: &str| Host::connect(target.address, HostOptions::new(nqn, name));
    assert!(connect(NQN, "guest").is_err(), "the first has a list of hosts");
    assert!(connect("nqn.2026-11.io.wafer:third", "admin").is_err());
    let mut hosts = [connect(NQN, "admin").unwrap(), connect(OTHER, "guest").unwrap()];
    let blocks = hosts.each_mut().map(|host| {
        let id: IdentifyNamespace = host.identify(Cns::NAMESPACE, 1).unwrap();
        id.nsze.get()
    });
    assert_eq!(blocks, [64 << 8, 32 << 8]);
    let mut queues = hosts.each_ref().map(|host| host.io_queue(1).unwrap());
    for (byte, queue) in [0x11, 0x22].into_iter().zip(&mut queues) {
        let written = queue.execute(IO.write(7, 1, None), &[byte; 4096], 0).unwrap();
        assert_eq!(written.status, Status::SUCCESS);
    }
    for (byte, queue) in [0x11, 0x22].into_iter().zip(&mut queues) {
        assert_eq!(queue.execute(IO.read(7, 1), &[], 4096).unwrap().data, [byte; 4096]);
    }
    queues[1].execute(IO.write(8, 1, None), &[0; 4096], 0).unwrap();
    let counted = |subsystem: &Subsystem| subsystem.drive.counters().counters.host_bytes;
    assert_eq!((counted(&target.subsystem), counted(&second)), (4096, 8192));
    // In each, the first controller has the first ID.
    let ids = [&target.subsystem, &second].map(|s| s.controllers()[0].cntlid);
    assert_eq!(ids, [1, 1]);
    // Disconnecting a host removes its controller from its own subsystem only.
    drop(queues);
    let [first, other] = hosts;
    drop(other);
    let gone = |subsystem: &Subsystem| {
        (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            subsystem.controllers().is_empty()
        })
    };
    assert!(gone(&second) && !target.subsystem.controllers().is_empty());
    drop(first);
    target.stop();
}

#[test]
fn operators_name_the_subsystem() {
    let (target, second) = start();
    let ask = |request: &str| answer(request.as_bytes(), &target.subsystem);
    let Response::Refused(reason) = ask(r#"{"command":"health","temperature":350}"#) else {
        panic!("it does not say which");
    };
    assert!(reason.contains(NQN) && reason.contains(OTHER), "{reason}");
    let named = |nqn: &str| {
        ask(&format!(r#"{{"command":"health","temperature":350,"subsystem":"{nqn}"}}"#))
    };
    assert!(matches!(named("nqn.2026-11.io.wafer:third"), Response::Refused(_)));
    assert!(matches!(named(OTHER), Response::Done(_)));
    assert_eq!(second.injected().health.temperature, Some(350));
    assert_eq!(target.subsystem.injected().health.temperature, None);
    // With a single subsystem, no name is needed.
    let single = answer(br#"{"command":"clear"}"#, &second);
    assert!(matches!(single, Response::Done(_)));
    assert_eq!(second.injected().health.temperature, None);
}
