//! Checks the layouts against pages of QEMU's FDP device: every byte is preserved, and every field
//! that nvme-cli printed has the printed value.

use wafer_nvme::zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use wafer_nvme::*;

macro_rules! capture {
    ($name:literal) => {
        &include_bytes!(concat!("qemu/", $name, ".bin"))[..]
    };
}

/// Takes a structure off the front of `bytes`, and checks that writing it gives the same bytes.
fn take<T: FromBytes + IntoBytes + Immutable + KnownLayout + Copy>(bytes: &mut &[u8]) -> T {
    let (value, rest) = T::read_from_prefix(bytes).expect("enough bytes");
    assert_eq!(value.as_bytes(), &bytes[..size_of::<T>()]);
    *bytes = rest;
    value
}

#[test]
fn identify_controller() {
    let mut bytes = capture!("id-ctrl");
    let id: IdentifyController = take(&mut bytes);
    assert_eq!((id.vid.get(), id.ssvid.get()), (0x1b36, 0x1af4));
    assert_eq!(&id.mn[..14], b"QEMU NVMe Ctrl");
    assert_eq!((id.cmic, id.mdts, id.cntlid.get(), id.ver.get()), (2, 7, 0, 0x10400));
    assert_eq!(id.oaes.get(), 0x100);
    let ctratt = Ctratt::from(id.ctratt.get());
    assert!(ctratt.fdps() && ctratt.egs() && ctratt.elbas());
    assert_eq!(ctratt.into_bits(), 0x88010);
    assert_eq!(id.cntrltype, 1);
    let oacs = Oacs::from(id.oacs.get());
    assert!(oacs.format() && oacs.namespace_management() && oacs.directives());
    assert_eq!((id.acl_z, id.aerl_z, id.frmw, id.lpa, id.elpe_z), (3, 3, 3, 7, 0));
    assert_eq!((id.wctemp.get(), id.cctemp.get(), id.endgidmax.get()), (343, 373, 1));
    assert_eq!((id.sqes, id.cqes, id.nn.get()), (0x66, 0x44, 256));
    let oncs = Oncs::from(id.oncs.get());
    assert!(oncs.compare() && oncs.dsm() && oncs.write_zeroes() && oncs.copy() && !oncs.verify());
    assert_eq!((id.vwc, id.cdfs.get(), id.sgls.get()), (7, 15, 0x8_0001));
    assert_eq!(nqn(&id.subnqn), Some("nqn.2019-08.org.qemu:nqn.2026-11.local:fdp"));
}

#[test]
fn identify_namespace() {
    let mut bytes = capture!("id-ns");
    let id: IdentifyNamespace = take(&mut bytes);
    assert_eq!((id.nsze.get(), id.ncap.get(), id.nuse.get()), (0x40000, 0x40000, 0x40000));
    let nsfeat = Nsfeat::from(id.nsfeat);
    assert_eq!((nsfeat.optperf(), nsfeat.dae()), (3, true));
    assert_eq!((id.nlbaf_z, id.flbas, id.nmic), (7, 4, 1));
    assert_eq!(Dlfeat::from(id.dlfeat).read_behaviour(), 1);
    assert_eq!((id.mssrl.get(), id.mcl.get(), id.msrc_z, id.endgid.get()), (128, 128, 127, 1));
    assert_eq!((id.lbaf[0].lbads, id.lbaf[4].lbads, id.lbaf[7].ms.get()), (9, 12, 64));
}

#[test]
fn fdp_configurations() {
    for mut bytes in [capture!("before-configurations"), capture!("after-configurations")] {
        let whole = bytes.len();
        let head: FdpConfigurations = take(&mut bytes);
        assert_eq!((head.n_z.get(), head.version, head.size.get() as usize), (0, 0, whole));
        let configuration: FdpConfiguration = take(&mut bytes);
        assert_eq!((configuration.ds.get(), configuration.vss), (64 + 4 * 4, 0));
        let fdpa = Fdpa::from(configuration.fdpa);
        assert!(fdpa.valid() && fdpa.rgif() == 0 && !fdpa.fdpvwc());
        assert_eq!((configuration.nrg.get(), configuration.nruh.get()), (1, 4));
        assert_eq!((configuration.maxpids_z.get(), configuration.nnss.get()), (127, 256));
        assert_eq!((configuration.runs.get(), configuration.erutl.get()), (16 << 20, 0));
        for _ in 0..4 {
            assert_eq!(take::<RuhDescriptor>(&mut bytes).ruht, 1);
        }
        assert!(bytes.is_empty());
    }
}

#[test]
fn handle_usage() {
    for mut bytes in [capture!("before-usage"), capture!("after-usage")] {
        let head: RuhUsage = take(&mut bytes);
        for _ in 0..head.nruh.get() {
            assert_eq!(take::<RuhUsageDescriptor>(&mut bytes).ruha, 1);
        }
        assert!(bytes.is_empty());
    }
}

#[test]
fn statistics() {
    let mut bytes = capture!("after-statistics");
    let log: FdpStatistics = take(&mut bytes);
    assert_eq!((log.hbmw.get(), log.mbmw.get(), log.mbe.get()), (956_637_184, 974_405_632, 0));
    assert_eq!(FdpStatistics::read_from_bytes(capture!("before-statistics")).unwrap().mbe.get(), 0);
}

#[test]
fn events() {
    let mut bytes = capture!("after-events");
    let head: FdpEventsHeader = take(&mut bytes);
    let times = [1_795_233_813_589, 1_795_233_813_652, 1_795_233_813_704, 1_795_233_813_759];
    assert_eq!(head.count.get() as usize, times.len());
    for time in times {
        let event: FdpEventEntry = take(&mut bytes);
        assert_eq!(FdpEventType(event.event_type), FdpEventType::RU_NOT_FULLY_WRITTEN);
        assert_eq!(FdpEventFlags::from(event.flags).into_bits(), 7);
        assert_eq!((event.pid.get(), event.nsid.get()), (0, 1));
        assert_eq!((event.rgid.get(), event.ruhid), (0, 0));
        assert_eq!((event.timestamp.get(), event.timestamp.attributes), (time, 2));
    }
    assert!(bytes.is_empty());
    let mut bytes = capture!("before-events");
    assert_eq!(take::<FdpEventsHeader>(&mut bytes).count.get(), 0);
}

#[test]
fn handle_status() {
    let before = [4096u64; 4];
    let after = [4080, 2062, 4096, 1968];
    for (mut bytes, ruamw) in
        [(capture!("before-status"), before), (capture!("after-status"), after)]
    {
        let head: RuhStatus = take(&mut bytes);
        assert_eq!(head.nruhsd.get(), 4);
        for (at, writes) in (0u16..).zip(ruamw) {
            let status: RuhStatusDescriptor = take(&mut bytes);
            assert_eq!((status.pid.get(), status.ruhid.get(), status.earutr.get()), (at, at, 0));
            assert_eq!(status.ruamw.get(), writes);
        }
        assert!(bytes.is_empty());
    }
}

#[test]
fn command_dwords() {
    let cdw12 = RwCdw12::new().with_nlb_z(7).with_dtype(2).with_fua(true).with_deac(true);
    assert_eq!(cdw12.into_bits(), 7 | 2 << 20 | 1 << 30 | 1 << 25);
    assert_eq!(RwCdw13::new().with_dspec(0x8001).into_bits(), 0x8001_0000);
    assert_eq!(IoManagementCdw10::new().with_mo(1).with_mos(3).into_bits(), 0x0003_0001);
    let log = GetLogCdw10::new().with_lid(0x23).with_lsp(1).with_numdl_z(0x3ff);
    assert_eq!(log.into_bits(), 0x03ff_0123);
    assert_eq!(StatusField::new().with_status(0x29).with_dnr(true).into_bits(), 0x8052);
    assert_eq!(DsmCdw11::new().with_ad(true).into_bits(), 4);
    assert_eq!(CopyCdw12::new().with_nr_z(1).with_desfmt(1).with_dtype(2).into_bits(), 0x0020_0101);
}

#[test]
fn timestamps() {
    let time = Timestamp::new(0x1_2345_6789_abcd, 2);
    assert_eq!(time.as_bytes(), [0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 2, 0]);
    assert_eq!(time.get(), 0x2345_6789_abcd);
}

#[test]
fn unknown_codes_stay_what_they_are() {
    assert_eq!(format!("{:?}", Status(0x7ff)), "Status(0x7ff)");
    assert_eq!(format!("{:?}", Status::FDP_DISABLED), "FDP_DISABLED");
    assert_eq!(Cns(0x77).name(), None);
}
