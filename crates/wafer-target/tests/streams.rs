//! The Streams directive: enabling it, the handle that a stream writes to, and what releases streams.

use std::sync::Arc;

use wafer_controller::{Controller, Failure, Reply, Subsystem, SubsystemOptions, admin};
use wafer_drive::{Drive, DriveOptions, Protection};
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::{configure, connect_host, sqe};

const ALL: u32 = 0xffff_ffff;
/// Operations.
const PARAMETERS: u8 = 1;
const STATUS: u8 = 2;
const ALLOCATE: u8 = 3;
const RELEASE_IDENTIFIER: u8 = 1;
const RELEASE_RESOURCES: u8 = 2;
/// Fields at fault.
const DTYPE: Location = DirectiveCdw11::new().with_dtype(1).location();
const DOPER: Location = DirectiveCdw11::new().with_doper(1).location();

/// Returns a drive with two namespaces and `streams` streams.
fn subsystem(fdp: bool, streams: u16) -> Arc<Subsystem> {
    let device = serde_json::from_value(serde_json::json!({
        "capacity": "8MiB", "reclaim_unit": { "size": "1MiB", "count": 40 }, "handles": 2, "fdp": fdp,
        "streams": streams, "namespaces": [{ "size": "4MiB" }, { "size": "4MiB" }],
    }))
    .unwrap();
    let options = DriveOptions {
        device,
        seed: 0,
        data: DataSpec::None,
        lba_bytes: 512,
        events_enabled: false,
        given: Default::default(),
    };
    let drive = Arc::new(Drive::new(options).unwrap());
    let mut options = SubsystemOptions::of_drive(&drive, "streams");
    options.nqn = fuzzing::NQN.to_owned();
    Subsystem::new(drive, wafer_io::SUPPORTED, options)
}

/// A host with its own queue.
struct Host {
    controller: Arc<Controller>,
    queue: IoQueue,
}

impl Host {
    fn new(subsystem: &Arc<Subsystem>, number: u8) -> Self {
        let controller = connect_host(subsystem, number);
        let queue = IoQueue::new(Arc::clone(&controller));
        Host { controller, queue }
    }

    /// Connects a host and enables streams in both namespaces.
    fn streaming(subsystem: &Arc<Subsystem>, number: u8) -> Self {
        let host = Host::new(subsystem, number);
        host.enable(1, true).unwrap();
        host.enable(2, true).unwrap();
        host
    }

    fn directive(
        &self,
        opcode: AdminOpcode,
        nsid: u32,
        cdw11: DirectiveCdw11,
        cdw12: u32,
    ) -> Result<Reply, Failure> {
        let command = sqe(opcode, 15, cdw11.into_bits());
        let command = Sqe { nsid: nsid.into(), cdw12: cdw12.into(), ..command };
        admin(&self.controller, &command, &[])
    }

    fn enable_type(&self, nsid: u32, dtype: DirectiveType, enable: bool) -> Result<Reply, Failure> {
        let cdw12 = DirectiveEnable::new().with_dtype(dtype.0).with_endir(enable).into_bits();
        let cdw11 = DirectiveCdw11::new().with_doper(1);
        self.directive(AdminOpcode::DIRECTIVE_SEND, nsid, cdw11, cdw12)
    }

    fn enable(&self, nsid: u32, enable: bool) -> Result<Reply, Failure> {
        self.enable_type(nsid, DirectiveType::STREAMS, enable)
    }

    fn receive(&self, nsid: u32, doper: u8, cdw12: u32) -> Result<Reply, Failure> {
        let cdw11 = DirectiveCdw11::new().with_dtype(1).with_doper(doper);
        self.directive(AdminOpcode::DIRECTIVE_RECEIVE, nsid, cdw11, cdw12)
    }

    fn send(&self, nsid: u32, doper: u8, identifier: u16) -> Result<Reply, Failure> {
        let cdw11 = DirectiveCdw11::new().with_dtype(1).with_doper(doper).with_dspec(identifier);
        self.directive(AdminOpcode::DIRECTIVE_SEND, nsid, cdw11, 0)
    }

    /// Returns the supported and the enabled directives as bits.
    fn directives(&self) -> (u8, u8) {
        let cdw11 = DirectiveCdw11::new().with_doper(1);
        let reply = self.directive(AdminOpcode::DIRECTIVE_RECEIVE, 1, cdw11, 0).unwrap();
        (reply.data[0], reply.data[32])
    }

    fn parameters(&self, nsid: u32) -> StreamParameters {
        let data = self.receive(nsid, PARAMETERS, 0).unwrap().data;
        // Only the structure, even if the command requests more.
        StreamParameters::read_from_bytes(&data).unwrap()
    }

    fn open(&self, nsid: u32) -> Vec<u16> {
        let data = self.receive(nsid, STATUS, 0).unwrap().data;
        let fields: Vec<u16> =
            data.chunks_exact(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]])).collect();
        let count = usize::from(fields[0]);
        assert_eq!(fields.len(), 1 + count);
        fields[1..=count].to_vec()
    }

    /// Writes a page with a directive, and returns the handle that the device counted it for.
    fn write_type(&mut self, nsid: u32, dtype: u8, dspec: u16) -> Result<usize, Failure> {
        let drive = &self.controller.subsystem.drive;
        let by_handle = || drive.counters().handles.iter().map(|h| h.host_bytes).collect();
        let before: Vec<u64> = by_handle();
        let sqe = Sqe {
            opcode: NvmOpcode::WRITE.0,
            nsid: nsid.into(),
            cdw12: RwCdw12::new().with_nlb_z(7).with_dtype(dtype).into_bits().into(),
            cdw13: RwCdw13::new().with_dspec(dspec).into_bits().into(),
            ..Default::default()
        };
        self.queue.begin_batch();
        let done = self.queue.execute(&sqe, &[1; 4096], &mut Vec::new());
        self.queue.end_batch().unwrap();
        done?;
        let after: Vec<u64> = by_handle();
        let changed: Vec<usize> = (0..after.len()).filter(|h| before[*h] != after[*h]).collect();
        assert_eq!(changed.len(), 1);
        assert_eq!(after[changed[0]] - before[changed[0]], 4096);
        Ok(changed[0])
    }

    fn write(&mut self, nsid: u32, identifier: u16) -> usize {
        self.write_type(nsid, DirectiveType::STREAMS.0, identifier).unwrap()
    }
}

#[track_caller]
fn fails(result: Result<Reply, Failure>, status: Status, location: Option<Location>) {
    let failure = result.err().expect("it fails");
    assert_eq!((failure.status, failure.location), (status, location));
}

#[test]
fn fdp_and_streams_exclude_each_other() {
    let host = Host::new(&subsystem(true, 4), 1);
    assert_eq!(host.directives(), (0b111, 0b101));
    fails(host.enable(1, true), Status::INVALID_FIELD, Some(DOPER));
    fails(host.receive(1, PARAMETERS, 0), Status::INVALID_FIELD, Some(DTYPE));
    let without = Host::new(&subsystem(false, 0), 1);
    assert_eq!(without.directives(), (0b101, 0b001));
    let target = DirectiveEnable::new().with_dtype(1).location();
    fails(without.enable(1, true), Status::INVALID_FIELD, Some(target));
    // The drive is conventional until streams are enabled.
    let host = Host::new(&subsystem(false, 4), 1);
    assert_eq!(host.directives(), (0b111, 0b001));
    fails(host.receive(1, STATUS, 0), Status::INVALID_FIELD, Some(DTYPE));
    host.enable(1, true).unwrap();
    assert_eq!(host.directives(), (0b111, 0b011));
    let placement = host.enable_type(1, DirectiveType::DATA_PLACEMENT, true);
    fails(placement, Status::FDP_DISABLED, None);
    let placement = host.enable_type(ALL, DirectiveType::DATA_PLACEMENT, true);
    fails(placement, Status::INVALID_NAMESPACE, None);
    let identify = host.enable_type(1, DirectiveType::IDENTIFY, true);
    fails(identify, Status::INVALID_FIELD, Some(target));
    fails(host.receive(1, 4, 0), Status::INVALID_FIELD, Some(DOPER));
    fails(host.send(1, 3, 0), Status::INVALID_FIELD, Some(DOPER));
    fails(host.send(ALL, RELEASE_IDENTIFIER, 1), Status::INVALID_FIELD, Some(location!(nsid)));
}

#[test]
fn a_host_needs_an_identifier() {
    let host = Host::new(&subsystem(false, 4), 0);
    fails(host.enable(1, true), Status::HOST_ID_NOT_INITIALIZED, None);
}

#[test]
fn each_stream_has_a_handle() {
    let subsystem = subsystem(false, 4);
    let mut host = Host::new(&subsystem, 1);
    // Directives have no meaning until one is enabled, and then only that one has.
    for dtype in 0..=15 {
        assert_eq!(host.write_type(1, dtype, 7).unwrap(), 0);
    }
    host.enable(1, true).unwrap();
    assert_eq!(host.write(1, 0), 0);
    assert_eq!(host.write_type(1, 0, 9).unwrap(), 0);
    assert!(host.open(1).is_empty());
    let other = host.write_type(1, DirectiveType::DATA_PLACEMENT.0, 0).unwrap_err();
    let dtype = RwCdw12::new().with_dtype(1).location();
    assert_eq!((other.status, other.location), (Status::INVALID_FIELD, Some(dtype)));
    assert_eq!([900, 3, 65535, 900].map(|stream| host.write(1, stream)), [1, 2, 3, 1]);
    assert_eq!(host.open(1), [3, 900, 65535]);
    assert_eq!(host.write_type(2, 1, 3).unwrap(), 0, "not enabled there");
    let now = host.parameters(1);
    assert_eq!((now.msl.get(), now.nssa.get(), now.nsso.get(), now.nssc), (4, 4, 3, 0b10));
    // A page, of which a reclaim unit has 256.
    assert_eq!((now.sws.get(), now.sgs.get()), (8, 256));
    assert_eq!((now.nsa.get(), now.nso.get()), (0, 3));
    let all = host.parameters(ALL);
    assert_eq!((all.msl.get(), all.nsso.get(), all.sws.get(), all.nso.get()), (4, 3, 0, 0));
    host.send(1, RELEASE_IDENTIFIER, 3).unwrap();
    host.send(1, RELEASE_IDENTIFIER, 4711).unwrap();
    assert_eq!(host.open(1), [900, 65535]);
    assert_eq!(host.write(1, 4), 2, "the handle is free again");
    subsystem.drive.check_invariants().unwrap();
}

#[test]
fn a_stream_too_many_releases_the_oldest() {
    let subsystem = subsystem(false, 2);
    let mut host = Host::streaming(&subsystem, 1);
    let mut other = Host::streaming(&subsystem, 2);
    assert_eq!((host.write(1, 1), other.write(1, 1)), (1, 2), "streams belong to hosts");
    assert_eq!(host.write(2, 1), 1);
    assert_eq!((host.open(1), host.open(2), other.open(1)), (vec![], vec![1], vec![1]));
    // For all namespaces, each identifier is listed once.
    assert_eq!(host.open(ALL), [1]);
}

#[test]
fn allocated_resources_belong_to_their_host() {
    let subsystem = subsystem(false, 3);
    let mut host = Host::streaming(&subsystem, 1);
    let mut other = Host::streaming(&subsystem, 2);
    fails(host.receive(1, ALLOCATE, 0), Status::INVALID_FIELD, None);
    let handles = [1, 2, 3].map(|stream| other.write(1, stream));
    assert_eq!(handles, [1, 2, 3]);
    assert_eq!(host.receive(1, ALLOCATE, 2).unwrap().dw0, 2);
    assert_eq!(other.open(1), [3], "there is one resource left");
    fails(host.receive(1, ALLOCATE, 1), Status::INVALID_FIELD, None);
    assert_eq!([8, 9, 10].map(|stream| host.write(1, stream)), [1, 2, 1]);
    assert_eq!((host.open(1), other.open(1)), (vec![9, 10], vec![3]));
    assert_eq!((host.parameters(1).nsa.get(), host.parameters(1).nssa.get()), (2, 1));
    assert_eq!((other.parameters(1).nsa.get(), other.parameters(1).nsso.get()), (0, 1));
    // More than available: the remainder, and then none.
    assert_eq!(other.receive(2, ALLOCATE, 9).unwrap().dw0, 1);
    assert!(other.open(1).is_empty());
    assert_eq!(other.write(1, 3), 0, "without resources it is a write without a stream");
    let failed = Status::STREAM_RESOURCE_ALLOCATION_FAILED;
    fails(other.receive(1, ALLOCATE, 1), failed, None);
    host.send(1, RELEASE_RESOURCES, 0).unwrap();
    host.send(1, RELEASE_RESOURCES, 0).unwrap();
    assert_eq!((host.parameters(1).nsa.get(), host.parameters(1).nssa.get()), (0, 2));
    assert!(host.open(1).is_empty());
}

#[test]
fn what_ends_streams() {
    let subsystem = subsystem(false, 4);
    let drive = &subsystem.drive;
    let mut host = Host::new(&subsystem, 1);
    host.enable(ALL, true).unwrap();
    let second = Host::new(&subsystem, 1);
    let open = |host: &mut Host| {
        assert_eq!((host.write(1, 5), host.write(2, 6)), (1, 2));
        host.receive(2, ALLOCATE, 1).unwrap();
    };
    // Formatting releases identifiers; protecting a namespace also releases resources.
    open(&mut host);
    drive.format_namespace(0, 1, 512).unwrap();
    assert_eq!((host.open(1), host.open(2)), (vec![], vec![6]));
    drive.protect(0, 2, Protection::Protected).unwrap();
    assert_eq!((host.open(2), host.parameters(2).nsa.get()), (vec![], 0));
    drive.protect(0, 2, Protection::None).unwrap();
    // After a reset, the host's other controller keeps them; resetting the last one ends them.
    open(&mut host);
    configure(&second.controller, Cc::new()).unwrap();
    assert_eq!(host.open(1), [5]);
    configure(&host.controller, Cc::new()).unwrap();
    configure(&host.controller, Cc::new().with_en(true)).unwrap();
    assert_eq!(host.directives(), (0b111, 0b001));
    host.enable(ALL, true).unwrap();
    assert_eq!(host.parameters(2).nssa.get(), 4);
    assert!(host.open(1).is_empty());
    open(&mut host);
    host.enable(2, false).unwrap();
    fails(host.receive(2, STATUS, 0), Status::INVALID_FIELD, Some(DTYPE));
    assert_eq!((host.open(1), host.parameters(1).nssa.get()), (vec![5], 4));
    drive.delete_namespace(1).unwrap();
    assert!(!drive.streams_enabled([1; 16], None));
    host.enable(2, true).unwrap();
    subsystem.remove(&host.controller);
    assert!(!drive.streams_enabled([1; 16], None));
}
