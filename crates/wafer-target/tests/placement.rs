//! Flexible Data Placement as seen by a host: formats of namespaces that share a handle, placement identifiers, events.

use std::sync::Arc;

use wafer_controller::{Controller, Failure, Reply, Subsystem, SubsystemOptions, admin};
use wafer_drive::{Drive, DriveOptions, Environment};
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::sqe;

/// A drive with five handles, the last one persistently isolated, and a namespace of 512-byte blocks with all of them.
struct Bench {
    subsystem: Arc<Subsystem>,
    controller: Arc<Controller>,
    queue: IoQueue,
}

impl Bench {
    fn new(groups: u16, events_enabled: bool) -> Self {
        let device = serde_json::from_value(serde_json::json!({
            "capacity": "8MiB", "reclaim_unit": { "size": "1MiB", "count": 32 }, "handles": 5,
            "groups": groups, "handle_isolation": { "4": "persistently" },
        }));
        let options = DriveOptions {
            device: device.unwrap(),
            seed: 0,
            data: DataSpec::None,
            lba_bytes: 512,
            events_enabled,
            given: Default::default(),
        };
        let drive = Drive::with(options, Environment::default()).unwrap();
        let options = SubsystemOptions {
            nqn: fuzzing::NQN.to_owned(),
            serial: "S".to_owned(),
            model: "M".to_owned(),
            refuse_invalid_placement: false,
            advertise: Vec::new(),
        };
        let subsystem = Subsystem::new(Arc::new(drive), wafer_io::SUPPORTED, options);
        let controller = fuzzing::connect(&subsystem);
        Bench { queue: IoQueue::new(Arc::clone(&controller)), subsystem, controller }
    }

    fn admin(&self, nsid: u32, command: Sqe, data: &[u8]) -> Result<Reply, Status> {
        admin(&self.controller, &Sqe { nsid: nsid.into(), ..command }, data).map_err(|f| f.status)
    }

    fn delete(&self, nsid: u32) {
        let select = NamespaceCdw10::new().with_select(1).into_bits();
        self.admin(nsid, sqe(AdminOpcode::NAMESPACE_MANAGEMENT, select, 0), &[]).unwrap();
    }

    /// Creates a namespace of 64 KiB and attaches it. Returns its NSID.
    fn create(&self, format: u8, handles: &[u16]) -> Result<u32, Status> {
        let blocks = if format == 0 { 128 } else { 16 };
        let mut create = NamespaceCreate {
            nsze: blocks.into(),
            ncap: blocks.into(),
            flbas: format,
            nphndls: (handles.len() as u16).into(),
            ..Default::default()
        };
        for (slot, handle) in create.phndl.iter_mut().zip(handles) {
            *slot = (*handle).into();
        }
        let command = sqe(AdminOpcode::NAMESPACE_MANAGEMENT, 0, 0);
        let nsid = self.admin(0, command, create.as_bytes())?.dw0;
        let list = ControllerList { count: 1.into(), ids: [self.controller.cntlid.into(); 2047] };
        let attach = sqe(AdminOpcode::NAMESPACE_ATTACHMENT, 0, 0);
        self.admin(nsid, attach, list.as_bytes()).unwrap();
        Ok(nsid)
    }

    fn format(&self, nsid: u32, format: u8) -> Result<(), Status> {
        let cdw10 = FormatCdw10::new().with_lbafl(format).into_bits();
        self.admin(nsid, sqe(AdminOpcode::FORMAT_NVM, cdw10, 0), &[]).map(|_| ())
    }

    /// Executes a command of one page, with the Data Placement directive or another.
    fn io(
        &mut self,
        opcode: NvmOpcode,
        page: u32,
        dtype: DirectiveType,
        dspec: u16,
    ) -> Result<(), Failure> {
        let cdw12 = RwCdw12::new().with_nlb_z(7).with_dtype(dtype.0).into_bits();
        let sqe = Sqe {
            opcode: opcode.0,
            nsid: 1.into(),
            cdw10: (page * 8).into(),
            cdw12: cdw12.into(),
            cdw13: RwCdw13::new().with_dspec(dspec).into_bits().into(),
            ..Default::default()
        };
        let done = self.queue.execute(&sqe, &[7; 4096], &mut Vec::new());
        self.queue.end_batch().unwrap();
        done
    }

    fn write(&mut self, page: u32, pid: u16) {
        self.io(NvmOpcode::WRITE, page, DirectiveType::DATA_PLACEMENT, pid).unwrap();
    }

    fn update(&mut self, pids: &[u16]) -> Result<(), Failure> {
        let cdw10 = IoManagementCdw10::new()
            .with_mo(ManagementOperation::RECLAIM_UNIT_HANDLE.0)
            .with_mos(pids.len() as u16 - 1);
        let sqe = Sqe {
            opcode: NvmOpcode::IO_MANAGEMENT_SEND.0,
            nsid: 1.into(),
            cdw10: cdw10.into_bits().into(),
            ..Default::default()
        };
        self.queue.execute(&sqe, pids.as_bytes(), &mut Vec::new())
    }

    fn events(&self, host: bool) -> Vec<FdpEventEntry> {
        let page =
            GetLogCdw10::new().with_lid(Lid::FDP_EVENTS.0).with_lsp(host.into()).with_numdl_z(1023);
        let command = sqe(AdminOpcode::GET_LOG_PAGE, page.into_bits(), 1 << 16);
        let data = self.admin(0, command, &[]).unwrap().data;
        let (head, rest) = FdpEventsHeader::read_from_prefix(&data).unwrap();
        let events = rest.chunks_exact(64).take(head.count.get() as usize);
        events.map(|event| FdpEventEntry::read_from_bytes(event).unwrap()).collect()
    }
}

#[test]
fn namespaces_share_a_handle_only_with_others_of_their_format() {
    let bench = Bench::new(1, false);
    bench.delete(1);
    let a = bench.create(0, &[0, 1]).unwrap();
    assert_eq!(bench.create(1, &[2, 1]), Err(Status::INVALID_FORMAT));
    let b = bench.create(0, &[2, 1]).unwrap();
    let c = bench.create(1, &[3]).unwrap();
    // The drive chooses a handle suitable for the format.
    let chosen = [0, 1, 0].map(|format| bench.create(format, &[]));
    assert_eq!(chosen[1..], [Err(Status::INVALID_FORMAT), Ok(chosen[0].unwrap() + 1)]);

    assert_eq!(bench.format(a, 1), Err(Status::INVALID_FORMAT), "namespace b has 512-byte blocks");
    bench.format(a, 0).unwrap();
    bench.format(c, 0).unwrap();
    bench.format(c, 1).unwrap();
    // All of them at once.
    bench.format(u32::MAX, 1).unwrap();
    bench.format(b, 1).unwrap();
    assert_eq!(bench.format(b, 0), Err(Status::INVALID_FORMAT));
    bench.delete(a);
    bench.format(b, 0).unwrap();
    assert_eq!(bench.format(a, 0), Err(Status::INVALID_FIELD), "there is no such namespace");
}

#[test]
fn without_fdp_namespaces_share_what_they_like() {
    let bench = Bench::new(1, false);
    bench.delete(1);
    bench.subsystem.drive.set_fdp(false).unwrap();
    let (a, _) = (bench.create(0, &[]).unwrap(), bench.create(1, &[]).unwrap());
    bench.format(a, 1).unwrap();
}

#[test]
fn an_update_names_no_more_identifiers_than_there_are() {
    for groups in [1u16, 2] {
        let mut bench = Bench::new(groups, false);
        let page = GetLogCdw10::new().with_lid(Lid::FDP_CONFIGURATIONS.0).with_numdl_z(19);
        let command = sqe(AdminOpcode::GET_LOG_PAGE, page.into_bits(), 1 << 16);
        let data = bench.admin(0, command, &[]).unwrap().data;
        let (configuration, _) = FdpConfiguration::read_from_prefix(&data[16..]).unwrap();
        let most = configuration.maxpids_z.get() + 1;
        assert_eq!(most, 5 * groups);
        bench.update(&vec![0; usize::from(most)]).unwrap();
        let refused = bench.update(&vec![0; usize::from(most) + 1]).unwrap_err();
        assert_eq!(refused, IoManagementCdw10::new().with_mos(1).location().into());
    }
}

#[test]
fn an_invalid_identifier_is_logged_as_the_host_sent_it() {
    for groups in [1, 2] {
        let mut bench = Bench::new(groups, true);
        bench.write(0, 9);
        bench.write(1, 0xffff);
        bench.write(2, 0xfffe);
        let events = bench.events(true);
        let pids: Vec<u16> = events.iter().map(|event| event.pid.get()).collect();
        assert_eq!(pids, [9, 0xffff, 0xfffe]);
        for event in events {
            assert_eq!(event.event_type, FdpEventType::INVALID_PLACEMENT_IDENTIFIER.0);
            let flags = FdpEventFlags::from_bits(event.flags);
            // With several groups, the device chooses one for each write.
            assert_eq!((flags.piv(), flags.nsidv(), flags.lv()), (true, true, groups == 1));
            assert_eq!((event.nsid.get(), event.rgid.get(), event.ruhid), (1, 0, 0));
        }
    }
}

#[test]
fn write_uncorrectable_has_the_directives_of_a_write() {
    let mut bench = Bench::new(1, true);
    let streams =
        |bench: &mut Bench, opcode| bench.io(opcode, 0, DirectiveType::STREAMS, 1).unwrap_err();
    let refused = streams(&mut bench, NvmOpcode::WRITE_UNCORRECTABLE);
    assert_eq!(refused, streams(&mut bench, NvmOpcode::WRITE));
    let before = bench.subsystem.drive.counters().counters;
    for pid in [4, 77, 0xffff] {
        let placed = DirectiveType::DATA_PLACEMENT;
        bench.io(NvmOpcode::WRITE_UNCORRECTABLE, 0, placed, pid).unwrap();
    }
    let pids: Vec<u16> = bench.events(true).iter().map(|event| event.pid.get()).collect();
    assert_eq!(pids, [77, 0xffff]);
    assert_eq!(bench.subsystem.drive.counters().counters, before, "nothing reached the media");
}

/// Overwrites the pages of the namespace at random until garbage is collected.
fn collect(bench: &mut Bench, pid: u16) {
    let mut state = 1u64;
    for _ in 0..30_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bench.write((state >> 53) as u32, pid);
    }
    assert!(bench.subsystem.drive.counters().counters.relocated_pages > 0);
}

#[test]
fn data_of_initially_isolated_handles_is_reallocated() {
    let mut bench = Bench::new(1, true);
    collect(&mut bench, 1);
    let events = bench.events(false);
    assert!(!events.is_empty());
    let mut known = 0;
    for event in &events {
        assert_eq!(event.event_type, FdpEventType::MEDIA_REALLOCATED.0);
        let flags = FdpEventFlags::from_bits(event.flags);
        assert!(!flags.piv() && !flags.nsidv());
        known += usize::from(flags.lv());
        // If data of several handles is mixed, the handle is unknown.
        assert_eq!((event.rgid.get(), event.ruhid), (0, u8::from(flags.lv())));
        let moved = MediaReallocated::read_from_bytes(&event.specific).unwrap().nlbam.get();
        assert!(moved > 0 && moved % 8 == 0, "{moved} blocks of 512 bytes");
    }
    assert!(known > 0);
}

#[test]
fn data_of_persistently_isolated_handles_is_not_reallocated() {
    let mut bench = Bench::new(1, true);
    collect(&mut bench, 4);
    assert_eq!(bench.events(false).len(), 0);
}

/// Reads the FDP event types of placement handle 0, with room for `room` descriptors.
fn event_types(bench: &Bench, select: u8, room: u32) -> (u32, Vec<(u8, u8)>) {
    let cdw10 = GetFeaturesCdw10::new().with_fid(Fid::FDP_EVENTS.0).with_sel(select).into_bits();
    let mut command = sqe(AdminOpcode::GET_FEATURES, cdw10, 0);
    command.sgl.length = (2 * room).into();
    let reply = bench.admin(1, command, &[]).unwrap();
    (reply.dw0, reply.data.chunks_exact(2).map(|d| (d[0], d[1])).collect())
}

#[test]
fn events_are_enabled_and_saved() {
    let bench = Bench::new(1, false);
    let set = SetFeaturesCdw10::new().with_fid(Fid::FDP_EVENTS.0).with_sv(true).into_bits();
    let noet = FdpEventsCdw11::new().with_noet(1).into_bits();
    let set = Sqe { cdw12: 1.into(), ..sqe(AdminOpcode::SET_FEATURES, set, noet) };
    bench.admin(1, set, &[0x80]).unwrap();
    let told = |enabled| [0, 1, 2, 3, 0x80, 0x81].map(|t| (t, u8::from(t == enabled))).to_vec();
    // Current, default and saved.
    for (select, enabled) in [(0, 0x80), (1, 0xff), (2, 0x80)] {
        assert_eq!(event_types(&bench, select, 255), (6, told(enabled)));
    }
    assert_eq!(event_types(&bench, 0, 2), (2, told(0x80)[..2].to_vec()), "the buffer is full");
    let (capabilities, _) = event_types(&bench, 3, 0);
    assert!(FeatureCapabilities::from_bits(capabilities).saveable());
    assert_eq!(bench.admin(u32::MAX, set, &[0x80]).err(), Some(Status::INVALID_FIELD));
}

#[test]
fn fdp_is_enabled_by_saving_that() {
    let bench = Bench::new(1, false);
    let fdp = |sv, enable: bool| {
        let cdw10 = SetFeaturesCdw10::new().with_fid(Fid::FDP.0).with_sv(sv).into_bits();
        let value = FdpFeature::new().with_fdpe(enable).into_bits();
        let command = sqe(AdminOpcode::SET_FEATURES, cdw10, 1);
        bench.admin(0, Sqe { cdw12: value.into(), ..command }, &[]).map(|_| ())
    };
    let get = |select| {
        let cdw10 = GetFeaturesCdw10::new().with_fid(Fid::FDP.0).with_sel(select).into_bits();
        bench.admin(0, sqe(AdminOpcode::GET_FEATURES, cdw10, 1), &[]).unwrap().dw0
    };
    assert_eq!([get(0), get(1), get(2)], [1, 0, 1]);
    bench.delete(1);
    assert_eq!(fdp(false, false), Err(Status::INVALID_FIELD));
    fdp(true, false).unwrap();
    assert_eq!([get(0), get(1), get(2)], [0; 3]);
}
