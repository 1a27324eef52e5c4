//! Commands over a socket: data, counters, placement, namespaces, and clean errors.

use crate::common::{NQN, Target, config};
use wafer_device::Device;
use wafer_host::{Host, HostOptions, Io, Queue, QueueOptions};
use wafer_interface::{Command, Placement};
use wafer_nvme::zerocopy::{FromBytes as _, FromZeros as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;

const IO: Io = Io { nsid: 1 };

fn pattern(blocks: u32, seed: u8) -> Vec<u8> {
    (0..blocks as usize * 4096)
        .map(|i| ((i / 7) as u8).wrapping_mul(13).wrapping_add(seed))
        .collect()
}

fn succeed(queue: &mut Queue, sqe: Sqe, send: &[u8], receive: usize) -> Vec<u8> {
    let done = queue.execute(sqe, send, receive).unwrap();
    assert_eq!(done.status, Status::SUCCESS, "{sqe:?}");
    done.data
}

fn refused(queue: &mut Queue, sqe: Sqe, send: &[u8], receive: usize) -> Status {
    let done = queue.execute(sqe, send, receive).unwrap();
    assert!(!done.status.is_success(), "{sqe:?}");
    done.status
}

#[test]
fn data_of_every_size_and_way_comes_back() {
    let target = Target::start(DataSpec::Memory);
    for (number, (digests, r2ts, hpda, in_capsule, flow)) in [
        (false, 1, 0, 16384, true),
        (true, 1, 0, 4096, true),
        (true, 4, 7, 8192, false),
        (false, 16, 31, 0, true),
    ]
    .into_iter()
    .enumerate()
    {
        let mut options = HostOptions::new(NQN, &format!("way{number}"));
        options.queue = QueueOptions {
            header_digest: digests,
            data_digest: digests,
            r2ts,
            hpda,
            in_capsule: in_capsule.max(1024),
            no_flow_control: flow,
            entries: 64,
        };
        let host = Host::connect(target.address, options).unwrap();
        let mut queue = host.io_queue(1).unwrap();
        for blocks in [1, 2, 4, 5, 16, 31, 32, 33, 100, 256, 512] {
            let data = pattern(blocks, blocks as u8 ^ number as u8);
            succeed(&mut queue, IO.write(u64::from(blocks), blocks, None), &data, 0);
            let back = succeed(&mut queue, IO.read(u64::from(blocks), blocks), &[], data.len());
            assert!(back == data, "{blocks} blocks, way {number}");
        }
        // Many in parallel, completed in any order.
        let cids: Vec<u16> = (0..40u64)
            .map(|i| queue.submit(IO.write(i * 40, 40, None), &pattern(40, i as u8), 0))
            .collect();
        for _ in &cids {
            assert!(queue.complete().unwrap().status.is_success());
        }
        for i in 0..40 {
            let back = succeed(&mut queue, IO.read(i * 40, 40), &[], 40 * 4096);
            assert!(back == pattern(40, i as u8), "{i}");
        }
        assert_eq!(refused(&mut queue, IO.read(0, 513), &[], 513 * 4096), Status::INVALID_FIELD);
    }
}

#[test]
fn the_drive_counts_as_the_device_does() {
    let target = Target::start(DataSpec::None);
    let mut host = target.host("counts");
    let mut queue = host.io_queue(1).unwrap();
    let mut device = Device::new(&config("64MiB"), 0).unwrap();
    device.delete_namespace(wafer_interface::NsId(0));
    let pages = device.geometry().logical_pages;
    let handles: Vec<_> = (0..4).map(wafer_interface::RuhId).collect();
    device.create_namespace(pages, &handles).unwrap();
    let mut state = 1u64;
    let data = pattern(16, 0);
    for round in 0..30_000u64 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (lba, blocks) = ((state >> 33) % (pages - 16), 1 + (state >> 20) as u32 % 16);
        let pid = (state >> 50) as u16 % 6;
        if queue.outstanding() > 20 {
            assert!(queue.complete().unwrap().status.is_success());
        }
        let command = match round % 50 {
            0 => {
                let range =
                    DsmRange { length: blocks.into(), slba: lba.into(), ..Default::default() };
                queue.submit(IO.deallocate(1), range.as_bytes(), 0);
                Command::deallocate(lba * 8, blocks * 8)
            }
            1 => {
                queue.submit(IO.write_zeroes(lba, blocks, true), &[], 0);
                Command::deallocate(lba * 8, blocks * 8)
            }
            _ => {
                let send = &data[..blocks as usize * 4096];
                queue.submit(IO.write(lba, blocks, Some(pid)), send, 0);
                Command::write(lba * 8, blocks * 8, Placement(pid))
            }
        };
        device.apply(&[command]);
        if blocks > 2 {
            // Writes with Ready to Transfer are executed once their data arrives: keep the order.
            while queue.outstanding() > 0 {
                assert!(queue.complete().unwrap().status.is_success());
            }
        }
    }
    while queue.outstanding() > 0 {
        assert!(queue.complete().unwrap().status.is_success());
    }
    let (ours, theirs) = (device.counters(), host.statistics().unwrap());
    assert_eq!(theirs.hbmw.get(), u128::from(ours.host_bytes));
    assert_eq!(theirs.mbmw.get(), u128::from(ours.media_bytes));
    assert_eq!(theirs.mbe.get(), u128::from(ours.erased_bytes));
    assert!(ours.relocated_pages > 1000, "garbage was collected: {ours:?}");
    assert_eq!(target.drive.snapshot().counters, ours);
    assert_eq!(target.drive.check_invariants(), Ok(()));
    // The vendor-specific log page reports the same by handle.
    let page = host.log(Lid::WAFER_HANDLES, 0, 0, 32 + 5 * 32).unwrap();
    let (head, rest) = HandlesLog::read_from_prefix(&page).unwrap();
    assert_eq!((&head.magic, head.count.get(), head.gc.get()), (b"WAFR", 5, 1));
    let mut sum = 0;
    for (entry, handle) in rest.chunks_exact(32).zip(device.handle_counters()) {
        let entry = HandleBytes::read_from_bytes(entry).unwrap();
        assert_eq!(entry.host_bytes.get(), handle.host_bytes);
        assert_eq!(entry.media_bytes.get(), handle.media_bytes);
        sum += entry.host_bytes.get();
    }
    assert_eq!(sum, ours.host_bytes);
}

#[test]
fn every_io_command_does_what_it_says() {
    let target = Target::start(DataSpec::Memory);
    let host = target.host("io");
    let mut queue = host.io_queue(1).unwrap();
    let data = pattern(8, 3);
    succeed(&mut queue, IO.write(100, 8, Some(2)), &data, 0);
    succeed(&mut queue, IO.compare(100, 8), &data, 0);
    let mut other = data.clone();
    other[5000] ^= 1;
    assert_eq!(refused(&mut queue, IO.compare(100, 8), &other, 0), Status::COMPARE_FAILURE);
    succeed(&mut queue, IO.verify(100, 8), &[], 0);
    let ranges = [(100u64, 3u16), (104, 1)].map(|(slba, nlb_z)| CopyRange {
        slba: slba.into(),
        nlb_z: nlb_z.into(),
        ..Default::default()
    });
    succeed(&mut queue, IO.copy(200, 2, Some(1)), ranges.as_bytes(), 0);
    let copied = succeed(&mut queue, IO.read(200, 6), &[], 6 * 4096);
    assert!(copied == data[..6 * 4096]);
    // A copy onto its own source.
    succeed(&mut queue, IO.copy(101, 1, None), ranges[..1].as_bytes(), 0);
    let moved = succeed(&mut queue, IO.read(101, 4), &[], 4 * 4096);
    assert!(moved == data[..4 * 4096]);
    succeed(&mut queue, IO.write_zeroes(200, 2, false), &[], 0);
    succeed(&mut queue, IO.write_zeroes(204, 1, true), &[], 0);
    let zeroed = succeed(&mut queue, IO.read(200, 6), &[], 6 * 4096);
    assert!(
        zeroed[..8192].iter().all(|b| *b == 0)
            && zeroed[4 * 4096..5 * 4096].iter().all(|b| *b == 0)
    );
    assert!(zeroed[8192..4 * 4096] == data[8192..4 * 4096]);
    let range = DsmRange { length: 6.into(), slba: 200.into(), ..Default::default() };
    succeed(&mut queue, IO.deallocate(1), range.as_bytes(), 0);
    assert!(succeed(&mut queue, IO.read(200, 6), &[], 6 * 4096).iter().all(|b| *b == 0));
    succeed(&mut queue, IO.flush(), &[], 0);
    succeed(&mut queue, Io { nsid: 0xffff_ffff }.flush(), &[], 0);

    let last = target.drive.namespace(1).unwrap().blocks();
    assert_eq!(refused(&mut queue, IO.read(last, 1), &[], 4096), Status::LBA_OUT_OF_RANGE);
    assert_eq!(refused(&mut queue, IO.read(last - 1, 2), &[], 8192), Status::LBA_OUT_OF_RANGE);
    assert_eq!(
        refused(&mut queue, IO.write(u64::MAX, 2, None), &data[..8192], 0),
        Status::LBA_OUT_OF_RANGE
    );
    assert_eq!(refused(&mut queue, IO.read(0, 2), &[], 4096), Status::INVALID_SGL_LENGTH);
    assert_eq!(
        refused(&mut queue, IO.write(0, 4, None), &data[..4096], 0),
        Status::INVALID_SGL_LENGTH
    );
    assert_eq!(refused(&mut queue, Io { nsid: 7 }.read(0, 1), &[], 4096), Status::INVALID_FIELD);
    assert_eq!(
        refused(&mut queue, Io { nsid: 0 }.read(0, 1), &[], 4096),
        Status::INVALID_NAMESPACE
    );
    let unknown = Sqe { opcode: 0x44, nsid: 1.into(), ..Default::default() };
    assert_eq!(refused(&mut queue, unknown, &[], 0), Status::INVALID_OPCODE);
    let mut streams = IO.write(0, 1, Some(0));
    streams.cdw12 = RwCdw12::new().with_dtype(1).into_bits().into();
    assert_eq!(refused(&mut queue, streams, &data[..4096], 0), Status::INVALID_FIELD);
}

#[test]
fn placement_status_update_and_events() {
    let target = Target::start(DataSpec::None);
    let mut host = target.host("fdp");
    let mut queue = host.io_queue(1).unwrap();
    let status = |queue: &mut Queue| -> Vec<u64> {
        let page = succeed(queue, IO.handle_status(16 + 4 * 32), &[], 16 + 4 * 32);
        let (head, rest) = RuhStatus::read_from_prefix(&page).unwrap();
        assert_eq!(head.nruhsd.get(), 4);
        let row = |row| RuhStatusDescriptor::read_from_bytes(row).unwrap().ruamw.get();
        rest.chunks_exact(32).map(row).collect()
    };
    assert_eq!(status(&mut queue), [256; 4]);
    let page = pattern(1, 0);
    succeed(&mut queue, IO.write(0, 1, Some(1)), &page, 0);
    succeed(&mut queue, IO.write(1, 1, Some(1)), &page, 0);
    succeed(&mut queue, IO.write(2, 1, None), &page, 0);
    succeed(&mut queue, IO.write(3, 1, Some(9)), &page, 0);
    assert_eq!(status(&mut queue), [254, 254, 256, 256]);
    let before = host.statistics().unwrap();
    let pids = [1u16, 2].map(U16::new);
    succeed(&mut queue, IO.handle_update(2), pids.as_bytes(), 0);
    assert_eq!(status(&mut queue), [254, 256, 256, 256]);
    // An update writes nothing to the media.
    assert_eq!(host.statistics().unwrap(), before);
    let bad = [0u16, 4].map(U16::new);
    assert_eq!(refused(&mut queue, IO.handle_update(2), bad.as_bytes(), 0), Status::INVALID_FIELD);
    assert_eq!(status(&mut queue)[0], 254, "an update with a bad identifier changes nothing");
    // A reclaim unit that is filled exactly causes no event.
    for lba in 0..256 {
        succeed(&mut queue, IO.write(lba, 1, Some(3)), &page, 0);
    }
    assert_eq!(status(&mut queue)[3], 256);
    let log = host.log(Lid::FDP_EVENTS, 1, 1, 64 + 8 * 64).unwrap();
    let (head, rest) = FdpEventsHeader::read_from_prefix(&log).unwrap();
    assert_eq!(head.count.get(), 2);
    let event = |at: usize| FdpEventEntry::read_from_bytes(&rest[at * 64..(at + 1) * 64]).unwrap();
    let invalid = event(0);
    assert_eq!(invalid.event_type, FdpEventType::INVALID_PLACEMENT_IDENTIFIER.0);
    assert_eq!((invalid.pid.get(), invalid.nsid.get(), invalid.flags), (9, 1, 0b111));
    let unwritten = event(1);
    assert_eq!(unwritten.event_type, FdpEventType::RU_NOT_FULLY_WRITTEN.0);
    assert_eq!((unwritten.pid.get(), unwritten.ruhid, unwritten.flags), (1, 1, 0b111));

    let strict =
        Target::with(config("64MiB"), DataSpec::None, true, std::time::Duration::from_secs(30));
    let mut host = strict.host("strict");
    let mut queue = host.io_queue(1).unwrap();
    assert_eq!(refused(&mut queue, IO.write(3, 1, Some(9)), &page, 0), Status::INVALID_FIELD);
    assert_eq!(host.statistics().unwrap().hbmw.get(), 0);
    let log = host.log(Lid::FDP_EVENTS, 1, 1, 128).unwrap();
    assert_eq!(FdpEventsHeader::read_from_prefix(&log).unwrap().0.count.get(), 1);
}

/// fio 3.41 and later set PRACT in every command, whether or not the namespace has protection information.
#[test]
fn protection_information_is_ignored_on_a_namespace_without_it() {
    let target = Target::start(DataSpec::Memory);
    let host = target.host("protection");
    let mut queue = host.io_queue(1).unwrap();
    let data = pattern(4, 9);
    let protected = |sqe: Sqe| {
        let cdw12 = RwCdw12::from(sqe.cdw12.get()).with_prinfo(0b1111).with_stc(true);
        Sqe { cdw12: cdw12.into_bits().into(), ..sqe }
    };
    succeed(&mut queue, protected(IO.write(8, 4, Some(1))), &data, 0);
    assert!(succeed(&mut queue, protected(IO.read(8, 4)), &[], 4 * 4096) == data);
    succeed(&mut queue, protected(IO.compare(8, 4)), &data, 0);
    succeed(&mut queue, protected(IO.verify(8, 4)), &[], 0);
    succeed(&mut queue, protected(IO.write_zeroes(10, 1, false)), &[], 0);
    let source = CopyRange { slba: 8.into(), nlb_z: 1.into(), ..Default::default() };
    let copy = IO.copy(20, 1, None);
    let cdw12 = CopyCdw12::from(copy.cdw12.get()).with_prinfor(0b1111).with_prinfow(0b1111);
    let cdw12 = cdw12.with_stcr(true).with_stcw(true);
    let copy = Sqe { cdw12: cdw12.into_bits().into(), ..copy };
    succeed(&mut queue, copy, source.as_bytes(), 0);
    let copied = succeed(&mut queue, protected(IO.read(20, 2)), &[], 2 * 4096);
    assert!(copied == data[..2 * 4096]);
}

fn create(pages: u64, format: u8, handles: &[u16]) -> NamespaceCreate {
    let mut data = NamespaceCreate::new_zeroed();
    data.nsze = pages.into();
    data.ncap = pages.into();
    data.flbas = format;
    data.nmic = 1;
    data.nphndls = (handles.len() as u16).into();
    for (slot, handle) in data.phndl.iter_mut().zip(handles) {
        *slot = (*handle).into();
    }
    data
}

fn manage(select: u32, nsid: u32) -> Sqe {
    Sqe {
        opcode: AdminOpcode::NAMESPACE_MANAGEMENT.0,
        nsid: nsid.into(),
        cdw10: select.into(),
        ..Default::default()
    }
}

#[test]
fn namespaces_come_and_go_and_others_are_notified() {
    let target = Target::start(DataSpec::Memory);
    let (mut a, mut b) = (target.host("a"), target.host("b"));
    // b enables notices.
    let config = AsyncEventConfig::new().with_namespace_attribute(true).into_bits();
    let set = Sqe {
        opcode: AdminOpcode::SET_FEATURES.0,
        cdw10: u32::from(Fid::ASYNC_EVENT.0).into(),
        cdw11: config.into(),
        ..Default::default()
    };
    b.admin("set features", set, &[], 0).unwrap();
    let request = Sqe { opcode: AdminOpcode::ASYNC_EVENT_REQUEST.0, ..Default::default() };
    let waiting = b.admin.submit(request, &[], 0);
    b.admin.flush().unwrap();

    a.admin("delete", manage(1, 1), &[], 0).unwrap();
    let notice = b.admin.complete().unwrap();
    assert_eq!((notice.cid, notice.dw & 0xff_ff07), (waiting, 0x04_0002));
    let changed = b.log(Lid::CHANGED_NAMESPACES, 0, 0, 4096).unwrap();
    assert_eq!(changed[..8], [1, 0, 0, 0, 0, 0, 0, 0]);

    let no = |host: &mut Host, data: NamespaceCreate| {
        host.admin.execute(manage(0, 0), data.as_bytes(), 0).unwrap().status
    };
    assert_eq!(no(&mut a, create(100, 1, &[0, 0])), Status::INVALID_PLACEMENT_HANDLE_LIST);
    assert_eq!(no(&mut a, create(100, 1, &[4])), Status::INVALID_PLACEMENT_HANDLE_LIST);
    assert_eq!(no(&mut a, create(100, 2, &[])), Status::INVALID_FORMAT);
    assert_eq!(no(&mut a, create(1 << 40, 1, &[])), Status::INSUFFICIENT_CAPACITY);
    let made = |host: &mut Host, data: NamespaceCreate| {
        host.admin("create", manage(0, 0), data.as_bytes(), 0).unwrap().dw as u32
    };
    assert_eq!(made(&mut a, create(1000, 1, &[2, 0])), 1);
    assert_eq!(made(&mut a, create(8000, 0, &[])), 2);
    // The drive chose handle 1 for the second, so hosts must not list it.
    assert_eq!(no(&mut a, create(100, 1, &[1])), Status::INVALID_PLACEMENT_HANDLE_LIST);
    let usage = a.log(Lid::FDP_RUH_USAGE, 0, 1, 40).unwrap();
    assert_eq!([usage[8], usage[16], usage[24], usage[32]], [1, 2, 1, 0]);
    let list: [U32; 1024] = a.identify(Cns::ACTIVE_NAMESPACES, 0).unwrap();
    assert_eq!(list[0].get(), 0, "nothing is attached yet");
    let list: [U32; 1024] = a.identify(Cns::ALLOCATED_NAMESPACES, 0).unwrap();
    assert_eq!([list[0].get(), list[1].get(), list[2].get()], [1, 2, 0]);

    let mut to = ControllerList { count: 2.into(), ..Default::default() };
    (to.ids[0], to.ids[1]) = (a.cntlid.min(b.cntlid).into(), a.cntlid.max(b.cntlid).into());
    let attach = |select: u32, nsid: u32| Sqe {
        opcode: AdminOpcode::NAMESPACE_ATTACHMENT.0,
        ..manage(select, nsid)
    };
    a.admin("attach", attach(0, 1), to.as_bytes(), 0).unwrap();
    to.count = 1.into();
    to.ids[0] = a.cntlid.into();
    a.admin("attach", attach(0, 2), to.as_bytes(), 0).unwrap();
    let again = a.admin.execute(attach(0, 2), to.as_bytes(), 0).unwrap().status;
    assert_eq!(again, Status::ALREADY_ATTACHED);
    let id: IdentifyNamespace = a.identify(Cns::NAMESPACE, 2).unwrap();
    assert_eq!((id.nsze.get(), id.lbaf[usize::from(id.flbas)].lbads), (8000, 9));
    let id: IdentifyNamespace = b.identify(Cns::NAMESPACE, 2).unwrap();
    assert_eq!(id.nsze.get(), 0, "not attached to b");

    // Both hosts write to the shared namespace; only a sees the other.
    let (mut qa, mut qb) = (a.io_queue(1).unwrap(), b.io_queue(1).unwrap());
    let data = pattern(4, 9);
    succeed(&mut qa, IO.write(10, 4, Some(0)), &data, 0);
    assert!(succeed(&mut qb, IO.read(10, 4), &[], 4 * 4096) == data);
    let small = Io { nsid: 2 };
    succeed(&mut qa, small.write(3, 2, None), &data[..1024], 0);
    assert_eq!(refused(&mut qb, small.read(3, 2), &[], 1024), Status::INVALID_FIELD);
    let before = target.drive.snapshot().counters;
    assert_eq!(before.host_bytes, 4 * 4096 + 1024);
    assert_eq!(before.rmw_pages, 1, "1 KiB is part of a page");
    // Format changes the block size of the namespace and discards its data.
    let format = Sqe {
        opcode: AdminOpcode::FORMAT_NVM.0,
        nsid: 2.into(),
        cdw10: 1.into(),
        ..Default::default()
    };
    a.admin("format", format, &[], 0).unwrap();
    let id: IdentifyNamespace = a.identify(Cns::NAMESPACE, 2).unwrap();
    assert_eq!((id.nsze.get(), id.lbaf[usize::from(id.flbas)].lbads), (1000, 12));
    assert!(succeed(&mut qa, small.read(0, 1), &[], 4096).iter().all(|b| *b == 0));
    a.admin("delete all", manage(1, 0xffff_ffff), &[], 0).unwrap();
    assert_eq!(refused(&mut qa, IO.read(0, 1), &[], 4096), Status::INVALID_FIELD);

    // Without namespaces FDP can be disabled; its logs then report that.
    let fdp = |enable: u32| Sqe {
        opcode: AdminOpcode::SET_FEATURES.0,
        cdw10: SetFeaturesCdw10::new().with_fid(Fid::FDP.0).with_sv(true).into_bits().into(),
        cdw11: 1.into(),
        cdw12: enable.into(),
        ..Default::default()
    };
    a.admin("disable FDP", fdp(0), &[], 0).unwrap();
    assert!(a.statistics().unwrap_err().to_string().contains("FDP_DISABLED"));
    assert_eq!(made(&mut a, create(1000, 1, &[])), 1);
    to.ids[0] = a.cntlid.into();
    a.admin("attach", attach(0, 1), to.as_bytes(), 0).unwrap();
    // Without an enabled directive, DTYPE has no meaning.
    succeed(&mut qa, IO.write(0, 1, Some(0)), &data[..4096], 0);
    succeed(&mut qa, IO.write(0, 1, None), &data[..4096], 0);
    let refused = a.admin.execute(fdp(1), &[], 0).unwrap().status;
    assert_eq!(refused, Status::SEQUENCE_ERROR);
    target.stop();
}
