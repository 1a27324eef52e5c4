//! Hosts that must authenticate.

use std::time::{Duration, Instant};

use wafer_auth::{Group, Hash, Secret};
use wafer_controller::{Access, HostEntry};
use wafer_host::{Admin, Credentials, Host, HostError, HostOptions, Io, Queue, QueueOptions};
use wafer_nvme::auth::{AuthCommand, Explanation, REQUIRED};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::control::{Response, answer};
use wafer_target::transport::ServerOptions;

use crate::common::{NQN, Target, config};

const FIRST: &str = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";
const SECOND: &str =
    "DHHC-1:02:ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1+f4CBgoOEhYaHiImKi4yNjo+QkZKTvGwQfg==:";
const IO: Io = Io { nsid: 1 };

fn secret(text: &str) -> Secret {
    text.parse().unwrap()
}

/// Returns a list entry for a host with these keys.
fn entry(name: &str, key: Option<&str>, controller_key: Option<&str>) -> HostEntry {
    HostEntry {
        nqn: HostOptions::new(NQN, name).hostnqn,
        manage: true,
        dhchap_key: key.map(secret),
        dhchap_ctrl_key: controller_key.map(secret),
        ..HostEntry::default()
    }
}

fn start(entries: Vec<HostEntry>) -> Target {
    start_with(entries, Duration::from_secs(30))
}

fn start_with(entries: Vec<HostEntry>, timeout: Duration) -> Target {
    let options = ServerOptions { timeout, ..ServerOptions::default() };
    let access = Access::listed(entries).unwrap();
    Target::with_options(config("64MiB"), DataSpec::Memory, false, options, access)
}

fn options(name: &str, key: &str, controller_key: Option<&str>) -> HostOptions {
    let credentials = Credentials::new(secret(key), controller_key.map(secret));
    HostOptions { credentials: Some(credentials), ..HostOptions::new(NQN, name) }
}

fn connect(target: &Target, options: HostOptions) -> Result<Host, HostError> {
    Host::connect(target.address, options)
}

/// Writes and reads blocks on a new I/O queue.
fn uses(host: &Host, qid: u16) {
    let mut queue = host.io_queue(qid).unwrap();
    let data = vec![0x5a; 8192];
    assert!(queue.execute(IO.write(5, 2, None), &data, 0).unwrap().status.is_success());
    assert_eq!(queue.execute(IO.read(5, 2), &[], 8192).unwrap().data, data);
}

#[test]
fn a_host_with_its_key_uses_the_drive_and_others_do_not() {
    let target = start(vec![entry("host", Some(FIRST), None), entry("open", None, None)]);
    let mut host = connect(&target, options("host", FIRST, None)).unwrap();
    uses(&host, 1);
    assert!(host.statistics().is_ok());
    // A host that is listed without a key needs none.
    uses(&connect(&target, HostOptions::new(NQN, "open")).unwrap(), 1);
    let wrong = connect(&target, options("host", SECOND, None)).err();
    assert!(matches!(wrong, Some(HostError::Authentication(Explanation::FAILED))), "{wrong:?}");
    let none = connect(&target, HostOptions::new(NQN, "host")).err();
    assert!(matches!(none, Some(HostError::Authentication(_))), "{none:?}");
    let stranger = connect(&target, options("stranger", FIRST, None)).err();
    assert!(matches!(
        stranger,
        Some(HostError::Status { status: Status::CONNECT_INVALID_HOST, .. })
    ));
    // Every host may use discovery.
    connect(&target, HostOptions::new(DISCOVERY_NQN, "stranger")).unwrap();
    target.stop();
}

#[test]
fn the_controller_authenticates_to_hosts_that_ask_for_it() {
    let target = start(vec![entry("host", Some(FIRST), Some(SECOND))]);
    for (hash, group) in [(Hash::Sha512, Group::Ffdhe8192), (Hash::Sha256, Group::Null)] {
        let mut options = options("host", FIRST, Some(SECOND));
        let credentials = options.credentials.as_mut().unwrap();
        (credentials.hashes, credentials.groups) = (vec![hash], vec![group]);
        uses(&connect(&target, options).unwrap(), 1);
    }
    // The host does not trust the controller.
    let wrong = connect(&target, options("host", FIRST, Some(FIRST))).err();
    assert!(matches!(wrong, Some(HostError::Authentication(Explanation::FAILED))), "{wrong:?}");
    target.stop();
}

#[test]
fn nothing_else_is_executed_before() {
    let target = start(vec![entry("host", Some(FIRST), None)]);
    let mut queue = Queue::initialize(target.address, QueueOptions::default()).unwrap();
    let (sqe, data) = Admin::connect(&HostOptions::new(NQN, "host"), 0, 0xffff, 32);
    let done = queue.execute(sqe, &data, 0).unwrap();
    assert!(done.status.is_success() && done.dw as u32 & REQUIRED != 0);
    let enable = u64::from(Cc::new().with_en(true).into_bits());
    for (sqe, receive) in [
        (Admin::property_get(Property::CAP), 0),
        (Admin::property_set(Property::CC, enable), 0),
        (Admin::identify(Cns::CONTROLLER, 0), 4096),
        (Admin::log(Lid::SMART, 0, 0, 512), 512),
    ] {
        let done = queue.execute(sqe, &[], receive).unwrap();
        assert_eq!((done.status, done.data.len()), (Status::AUTHENTICATION_REQUIRED, 0), "{sqe:?}");
    }
    // Nor does it take data.
    let download = Sqe { opcode: AdminOpcode::FIRMWARE_DOWNLOAD.0, ..Default::default() };
    let done = queue.execute(download, &vec![0; 1 << 20], 0).unwrap();
    assert_eq!(done.status, Status::AUTHENTICATION_REQUIRED);
    // Invalid fields of the commands themselves.
    let send = |change: fn(&mut AuthCommand)| {
        let sqe = Admin::authentication(FabricsType::AUTHENTICATION_SEND, 72);
        let mut command = AuthCommand::read_from_bytes(sqe.as_bytes()).unwrap();
        change(&mut command);
        Sqe::read_from_bytes(command.as_bytes()).unwrap()
    };
    let data = [0; 72];
    for (sqe, status) in [
        (send(|command| command.secp = 0xea), Status::INVALID_FIELD),
        (send(|command| command.spsp0 = 0), Status::INVALID_FIELD),
        (send(|command| command.spsp1 = 0), Status::INVALID_FIELD),
        (send(|command| command.length = 0.into()), Status::INVALID_FIELD),
        (send(|command| command.length = 73.into()), Status::INVALID_SGL_LENGTH),
    ] {
        assert_eq!(queue.execute(sqe, &data, 0).unwrap().status, status);
    }
    let long = vec![0; 4100];
    let done = queue
        .execute(Admin::authentication(FabricsType::AUTHENTICATION_SEND, 4100), &long, 0)
        .unwrap();
    assert_eq!(done.status, Status::INVALID_SGL_LENGTH);
    // The first invalid message ends the connection once the host has received the reason.
    let done = queue.execute(send(|_| {}), &[0xff; 72], 0).unwrap();
    assert!(done.status.is_success());
    let short = queue
        .execute(Admin::authentication(FabricsType::AUTHENTICATION_RECEIVE, 7), &[], 7)
        .unwrap();
    assert_eq!(short.status, Status::INVALID_FIELD);
    let told = queue
        .execute(Admin::authentication(FabricsType::AUTHENTICATION_RECEIVE, 64), &[], 64)
        .unwrap();
    assert_eq!(told.data[7], Explanation::INCORRECT_MESSAGE.0);
    assert!(queue.execute(Admin::property_get(Property::CAP), &[], 0).is_err(), "it is over");
    target.stop();
}

#[test]
fn a_queue_without_authentication_knows_no_messages() {
    let target = Target::start(DataSpec::None);
    let mut host = target.host("host");
    let done =
        host.admin.execute(Admin::authentication(FabricsType::AUTHENTICATION_RECEIVE, 64), &[], 64);
    assert_eq!(done.unwrap().status, Status::INVALID_FIELD);
    let done =
        host.admin.execute(Admin::authentication(FabricsType::AUTHENTICATION_SEND, 8), &[0; 8], 0);
    assert_eq!(done.unwrap().status, Status::INVALID_FIELD);
    target.stop();
}

#[test]
fn keys_change_while_hosts_are_connected() {
    let target = start(vec![entry("host", Some(FIRST), None)]);
    let mut host = connect(&target, options("host", FIRST, None)).unwrap();
    let new = Credentials::new(secret(SECOND), Some(secret(FIRST)));
    let hosts = [entry("host", Some(SECOND), Some(FIRST))];
    let request = serde_json::json!({ "command": "hosts", "hosts": hosts }).to_string();
    let changed = answer(request.as_bytes(), &target.subsystem);
    assert!(matches!(changed, Response::Done(_)), "{changed:?}");
    // Existing connections continue, and new queues need the new keys.
    assert!(host.statistics().is_ok());
    assert!(host.io_queue(1).is_err());
    host.authenticate(new.clone()).unwrap();
    uses(&host, 1);
    // Authenticating again with the old key ends the association.
    let old = host.authenticate(Credentials::new(secret(FIRST), None)).err();
    assert!(matches!(old, Some(HostError::Authentication(Explanation::FAILED))), "{old:?}");
    assert!(host.statistics().is_err());

    let mut host = connect(&target, options("host", SECOND, Some(FIRST))).unwrap();
    // An invalid list changes nothing.
    for (hosts, words) in [
        (serde_json::json!([{ "nqn": "host" }]), "host 1: nqn: "),
        (serde_json::json!([hosts[0], hosts[0]]), "host 2: nqn: "),
        (serde_json::json!([{ "nqn": "nqn.a", "dhchap_key": "x" }]), "DHHC-1"),
        (serde_json::json!([{ "nqn": "nqn.a", "keys": "x" }]), "keys"),
    ] {
        let request = serde_json::json!({ "command": "hosts", "hosts": hosts }).to_string();
        let Response::Refused(reason) = answer(request.as_bytes(), &target.subsystem) else {
            panic!("{hosts} was accepted");
        };
        assert!(reason.contains(words), "{reason}");
    }
    host.authenticate(new).unwrap();
    // A host that is no longer listed has no key to authenticate with.
    let request = serde_json::json!({ "command": "hosts", "hosts": [entry("other", None, None)] });
    answer(request.to_string().as_bytes(), &target.subsystem);
    let gone = host.authenticate(Credentials::new(secret(SECOND), None)).err();
    let unusable = Explanation::PROTOCOL_NOT_USABLE;
    assert!(matches!(gone, Some(HostError::Authentication(e)) if e == unusable), "{gone:?}");
    target.stop();
}

#[test]
fn a_host_need_not_keep_a_controller_alive_that_it_has_not_enabled() {
    let target = start(vec![entry("host", Some(FIRST), None)]);
    let options = HostOptions { kato: 200, ..options("host", FIRST, None) };
    let mut queue = Queue::initialize(target.address, QueueOptions::default()).unwrap();
    let (sqe, data) = Admin::connect(&options, 0, 0xffff, 32);
    queue.execute(sqe, &data, 0).unwrap();
    // It may have to compute with a large group.
    std::thread::sleep(Duration::from_millis(900));
    let done = queue.execute(Admin::property_get(Property::CAP), &[], 0).unwrap();
    assert_eq!(done.status, Status::AUTHENTICATION_REQUIRED);
    let mut enabled = connect(&target, options).unwrap();
    std::thread::sleep(Duration::from_millis(900));
    assert!(enabled.statistics().is_err(), "now it has to");
    target.stop();
}

#[test]
fn a_host_that_does_not_finish_is_cut_off() {
    let target = start_with(vec![entry("host", Some(FIRST), None)], Duration::from_millis(300));
    let mut queue = Queue::initialize(target.address, QueueOptions::default()).unwrap();
    let (sqe, data) = Admin::connect(&HostOptions::new(NQN, "host"), 0, 0xffff, 32);
    queue.execute(sqe, &data, 0).unwrap();
    let began = Instant::now();
    let mut byte = [0];
    assert_eq!(std::io::Read::read(queue.stream(), &mut byte).unwrap(), 0);
    assert!(began.elapsed() < Duration::from_secs(20));
    // An authenticated host may be silent.
    let mut host = connect(&target, options("host", FIRST, None)).unwrap();
    std::thread::sleep(Duration::from_millis(900));
    assert!(host.statistics().is_ok());
    target.stop();
}
