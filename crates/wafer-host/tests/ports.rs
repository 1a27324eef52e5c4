//! Several ports: how hosts find them, and the access to namespaces that each reports.

use std::sync::Arc;

use tokio::sync::watch;
use wafer_controller::{ANA_GROUPS, Subsystem};
use wafer_host::{Admin, Host, HostOptions, Io};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::control::{Response, execute};
use wafer_target::transport::{Server, ServerOptions};

use crate::common::{NQN, Target};

const IO: Io = Io { nsid: 1 };
const STATES: [(AnaState, Option<Status>); 5] = [
    (AnaState::NON_OPTIMIZED, None),
    (AnaState::INACCESSIBLE, Some(Status::ANA_INACCESSIBLE)),
    (AnaState::PERSISTENT_LOSS, Some(Status::ANA_PERSISTENT_LOSS)),
    (AnaState::CHANGE, Some(Status::ANA_TRANSITION)),
    (AnaState::OPTIMIZED, None),
];

/// A server with two ports.
struct Ports {
    addresses: Vec<std::net::SocketAddr>,
    subsystem: Arc<Subsystem>,
    stop: watch::Sender<bool>,
    runtime: tokio::runtime::Runtime,
    _drive: Target,
}

impl Ports {
    fn start() -> Self {
        // Serves the target's drive a second time, at two addresses.
        let target = Target::start(DataSpec::Memory);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (stop, stopping) = watch::channel(false);
        let options = target.subsystem.options.clone();
        let subsystem = Subsystem::new(Arc::clone(&target.drive), wafer_io::SUPPORTED, options);
        let inside = runtime.enter();
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), ServerOptions::default());
        let server = server.unwrap().and_bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let addresses = server.local_addrs().unwrap();
        runtime.spawn(server.run(Arc::clone(&subsystem), stopping));
        drop(inside);
        Ports { addresses, subsystem, stop, runtime, _drive: target }
    }

    fn host(&self, port: usize, subnqn: &str) -> Host {
        let address = self.addresses[port - 1];
        Host::connect(address, HostOptions::new(subnqn, &format!("port{port}"))).unwrap()
    }

    fn stop(self) {
        self.stop.send_replace(true);
        self.runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    }
}

fn log(host: &mut Host, lid: Lid, lsp: u8, bytes: u32) -> Vec<u8> {
    let command = Admin::log(lid, lsp, 0, bytes);
    let done = host.admin.execute(command, &[], bytes as usize).unwrap();
    assert_eq!(done.status, Status::SUCCESS);
    done.data
}

fn group(host: &mut Host, lsp: u8) -> (AnaLog, AnaGroup, Vec<u8>) {
    let page = log(host, Lid::ANA, lsp, 64);
    let (head, rest) = AnaLog::read_from_prefix(&page).unwrap();
    let (group, nsids) = AnaGroup::read_from_prefix(rest).unwrap();
    (head, group, nsids.to_vec())
}

#[test]
fn every_port_is_in_the_discovery_log() {
    let ports = Ports::start();
    for through in 1..=2 {
        let mut host = ports.host(through, DISCOVERY_NQN);
        let id: IdentifyController = host.identify(Cns::CONTROLLER, 0).unwrap();
        assert!(
            !Cmic::from_bits(id.cmic).ana(),
            "Linux takes no controller with ANA and no namespaces"
        );
        let page = log(&mut host, Lid::DISCOVERY, 0, 1024 * 4);
        let (head, entries) = DiscoveryLog::read_from_prefix(&page).unwrap();
        assert_eq!(head.numrec.get(), 3);
        let (own, rest) = DiscoveryEntry::read_from_prefix(entries).unwrap();
        assert_eq!((own.subtype, own.portid.get()), (Subtype::CURRENT_DISCOVERY.0, through as u16));
        let (first, rest) = DiscoveryEntry::read_from_prefix(rest).unwrap();
        let (second, _) = DiscoveryEntry::read_from_prefix(rest).unwrap();
        for (entry, (id, address)) in [first, second].iter().zip((1..).zip(&ports.addresses)) {
            assert_eq!((entry.subtype, entry.portid.get()), (Subtype::NVM.0, id));
            assert_eq!(nqn(&entry.subnqn), Some(NQN));
            let text = |field: &[u8]| String::from_utf8_lossy(field).trim_end().to_owned();
            assert_eq!(text(&entry.traddr), address.ip().to_string());
            assert_eq!(text(&entry.trsvcid), address.port().to_string());
        }
    }
    ports.stop();
}

#[test]
fn a_port_has_a_state_of_its_own() {
    let ports = Ports::start();
    let mut hosts = [ports.host(1, NQN), ports.host(2, NQN)];
    let mut queues = [hosts[0].io_queue(1).unwrap(), hosts[1].io_queue(1).unwrap()];
    for host in &mut hosts {
        let id: IdentifyController = host.identify(Cns::CONTROLLER, 0).unwrap();
        assert!(Cmic::from_bits(id.cmic).ana() && id.anatt > 0);
        let groups = (id.anagrpmax.get(), id.nanagrpid.get());
        assert_eq!((id.anacap, groups), (0b0101_1111, (ANA_GROUPS, ANA_GROUPS)));
        assert!(AsyncEventConfig::from(id.oaes.get()).ana());
        let id: IdentifyNamespace = host.identify(Cns::NAMESPACE, 1).unwrap();
        assert_eq!(id.anagrpid.get(), 1);
        let (head, group, nsids) = group(host, 0);
        assert_eq!((head.changes.get(), head.groups.get()), (0, 1));
        assert_eq!((group.group.get(), group.nsids.get()), (1, 1));
        assert_eq!((group.state, nsids[..4].to_vec()), (AnaState::OPTIMIZED.0, vec![1, 0, 0, 0]));
    }
    let groups_only = group(&mut hosts[0], 1);
    assert_eq!((groups_only.1.nsids.get(), &groups_only.2[..4]), (0, &[0; 4][..]));

    let mut changes = 0;
    for (state, refused) in STATES {
        ports.subsystem.set_ana_state(2, None, state).unwrap();
        ports.subsystem.set_ana_state(2, Some(1), state).unwrap();
        changes += 1;
        assert_eq!(group(&mut hosts[0], 0).1.state, AnaState::OPTIMIZED.0);
        let (head, group, _) = group(&mut hosts[1], 0);
        assert_eq!(
            (group.state, group.changes.get(), head.changes.get()),
            (state.0, changes, changes)
        );
        let data = vec![7; 64 << 10];
        let commands = [
            (IO.write(0, 1, None), 4096, 0),
            // Its data is not in the capsule: the host is not asked to send it.
            (IO.write(0, 16, None), 64 << 10, 0),
            (IO.read(0, 1), 0, 4096),
            (IO.compare(0, 1), 4096, 0),
            (IO.write_zeroes(64, 1, true), 0, 0),
            (IO.flush(), 0, 0),
        ];
        for (sqe, send, receive) in commands {
            let done = queues[1].execute(sqe, &data[..send], receive).unwrap();
            assert_eq!(done.status, refused.unwrap_or(Status::SUCCESS), "{state:?} {sqe:?}");
            assert!(!done.dnr, "another path may do");
            let done = queues[0].execute(sqe, &data[..send], receive).unwrap();
            assert_eq!(done.status, Status::SUCCESS);
        }
        // Commands that report on namespaces work through any port.
        let _: IdentifyNamespace = hosts[1].identify(Cns::NAMESPACE, 1).unwrap();
        let features = [(Fid::ERROR_RECOVERY, refused), (Fid::VOLATILE_WRITE_CACHE, None)];
        for (fid, refused) in features {
            let get = Sqe {
                opcode: AdminOpcode::GET_FEATURES.0,
                nsid: if refused.is_some() { 1 } else { 0 }.into(),
                cdw10: u32::from(fid.0).into(),
                ..Default::default()
            };
            let done = hosts[1].admin.execute(get, &[], 0).unwrap();
            if fid == Fid::VOLATILE_WRITE_CACHE || refused.is_some() {
                assert_eq!(done.status, refused.unwrap_or(Status::SUCCESS));
            }
        }
    }
    for (port, group) in [(3, None), (2, Some(0)), (2, Some(ANA_GROUPS + 1))] {
        assert!(ports.subsystem.set_ana_state(port, group, AnaState::OPTIMIZED).is_err());
    }
    ports.stop();
}

#[test]
fn hosts_hear_of_a_change_of_their_port() {
    let ports = Ports::start();
    let mut hosts = [ports.host(1, NQN), ports.host(2, NQN)];
    let mut cids = Vec::new();
    for host in &mut hosts {
        let set = Sqe {
            opcode: AdminOpcode::SET_FEATURES.0,
            cdw10: u32::from(Fid::ASYNC_EVENT.0).into(),
            cdw11: AsyncEventConfig::new().with_ana(true).into_bits().into(),
            ..Default::default()
        };
        assert!(host.admin.execute(set, &[], 0).unwrap().status.is_success());
        let request = Sqe { opcode: AdminOpcode::ASYNC_EVENT_REQUEST.0, ..Default::default() };
        cids.push(host.admin.submit(request, &[], 0));
        host.admin.flush().unwrap();
    }
    let change = serde_json::json!({ "command": "ana", "port": 2, "state": "inaccessible" });
    let changed = execute(&ports.subsystem, serde_json::from_value(change).unwrap());
    assert!(matches!(changed, Response::Done(_)), "{changed:?}");
    let event = hosts[1].admin.complete().unwrap();
    assert_eq!((event.cid, event.dw), (cids[1], 0x000c_0302), "notice, ANA change, log page 12");
    assert_eq!(group(&mut hosts[1], 0).1.state, AnaState::INACCESSIBLE.0);
    // The other port has not changed: the next completion belongs to a command.
    let identify = hosts[0].admin.execute(Admin::identify(Cns::CONTROLLER, 0), &[], 4096).unwrap();
    assert!(identify.cid != cids[0] && hosts[0].admin.outstanding() == 1);
    ports.stop();
}
