//! Namespaces: their Identify data, their creation, and the NSIDs that commands accept.

use std::sync::Arc;

use wafer_controller::{Controller, Failure, Reply, admin};
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_target::fuzzing;

use crate::common::{connect_host, sqe, subsystem};

const ALL: u32 = u32::MAX;

fn command(
    controller: &Controller,
    nsid: u32,
    command: Sqe,
    data: &[u8],
) -> Result<Reply, Failure> {
    admin(controller, &Sqe { nsid: nsid.into(), ..command }, data)
}

fn identify(controller: &Controller, cns: Cns, nsid: u32) -> Result<Vec<u8>, Status> {
    let done = command(controller, nsid, sqe(AdminOpcode::IDENTIFY, cns.0.into(), 0), &[]);
    done.map(|reply| reply.data).map_err(|failure| failure.status)
}

fn namespace(controller: &Controller, nsid: u32) -> IdentifyNamespace {
    let data = identify(controller, Cns::NAMESPACE, nsid).unwrap();
    IdentifyNamespace::read_from_bytes(&data).unwrap()
}

/// Returns the newest entry of the error log, for a failed command.
fn error(controller: &Controller, failure: &Failure) -> ErrorEntry {
    controller.fail(0, &sqe(AdminOpcode::NAMESPACE_MANAGEMENT, 0, 0), failure);
    let page = crate::common::log::<16>(controller, Lid::ERROR, 0);
    ErrorEntry::read_from_bytes(&page).unwrap()
}

#[test]
fn what_all_namespaces_have_in_common_is_told_without_one() {
    let controller = fuzzing::connect(&subsystem());
    let (common, own) = (namespace(&controller, ALL), namespace(&controller, 1));
    assert_eq!((common.nlbaf_z, common.lbaf, common.nmic), (own.nlbaf_z, own.lbaf, own.nmic));
    assert_eq!((common.dlfeat, common.mssrl.get(), common.mcl.get(), common.msrc_z), (0, 0, 0, 0));
    assert!(own.dlfeat != 0 && own.mssrl.get() > 0 && own.mcl.get() > 0 && own.msrc_z > 0);
    let independent = |nsid| {
        let data = identify(&controller, Cns::INDEPENDENT_NAMESPACE, nsid).unwrap();
        IndependentNamespace::read_from_bytes(&data).unwrap()
    };
    let (common, own) = (independent(ALL), independent(1));
    assert_eq!((common.nmic, common.rescap, common.anagrpid.get()), (own.nmic, 0, 0));
}

#[test]
fn how_much_is_used_of_a_namespace_that_cannot_be_reached_is_not_told() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let before = namespace(&controller, 1);
    for (state, told) in [
        (AnaState::INACCESSIBLE, false),
        (AnaState::PERSISTENT_LOSS, false),
        (AnaState::NON_OPTIMIZED, true),
        (AnaState::CHANGE, true),
    ] {
        subsystem.set_ana_state(1, None, state).unwrap();
        let now = namespace(&controller, 1);
        let (nuse, nvmcap) = (before.nuse.get(), before.nvmcap.get());
        let expected = if told { (nuse, nvmcap) } else { (0, 0) };
        assert_eq!((now.nuse.get(), now.nvmcap.get()), expected, "{state:?}");
        assert_eq!((now.nsze, now.ncap), (before.nsze, before.ncap));
    }
}

#[test]
fn what_cannot_be_created_says_why() {
    let controller = fuzzing::connect(&subsystem());
    let delete = NamespaceCdw10::new().with_select(1).into_bits();
    command(&controller, 1, sqe(AdminOpcode::NAMESPACE_MANAGEMENT, delete, 0), &[]).unwrap();
    let create = |create: NamespaceCreate, csi: u8| {
        let cdw11 = IdentifyCdw11::new().with_csi(csi).into_bits();
        let sqe = sqe(AdminOpcode::NAMESPACE_MANAGEMENT, 0, cdw11);
        command(&controller, 0, sqe, create.as_bytes())
    };
    let request = NamespaceCreate { nsze: 8.into(), ncap: 8.into(), ..Default::default() };
    let thin = NamespaceCreate { ncap: 4.into(), ..request };
    let grouped = NamespaceCreate { anagrpid: 1.into(), ..request };
    for (request, csi, status) in [
        (request, 2, Status::COMMAND_SET_NOT_SUPPORTED),
        (thin, 0, Status::THIN_PROVISIONING_NOT_SUPPORTED),
        (grouped, 0, Status::ANA_GROUP_INVALID),
    ] {
        assert_eq!(create(request, csi).map(|_| ()).unwrap_err().status, status);
    }
    // The error log contains the required capacity, and no transport type.
    let blocks = 1 << 40;
    let large = NamespaceCreate { nsze: blocks.into(), ncap: blocks.into(), ..request };
    let failure = create(large, 0).map(|_| ()).unwrap_err();
    assert_eq!(failure.status, Status::INSUFFICIENT_CAPACITY);
    let entry = error(&controller, &failure);
    assert_eq!((entry.command_specific.get(), entry.lba.get(), entry.trtype), (blocks * 512, 0, 0));
    let torn = error(&controller, &Status::TRANSIENT_TRANSPORT_ERROR.into());
    assert_eq!((torn.command_specific.get(), torn.trtype), (0, 3));
    // Bits that have a meaning only with metadata, or with more formats than there are.
    let ignored = NamespaceCreate { flbas: 0x71, ..request };
    assert_eq!(create(ignored, 0).map(|reply| reply.dw0).ok(), Some(1));
    let list = ControllerList::of([controller.cntlid]);
    command(&controller, 1, sqe(AdminOpcode::NAMESPACE_ATTACHMENT, 0, 0), list.as_bytes()).unwrap();
    assert_eq!(namespace(&controller, 1).flbas, 1);
    let format = FormatCdw10::new().with_mset(true).with_lbafu(3).into_bits();
    command(&controller, 1, sqe(AdminOpcode::FORMAT_NVM, format, 0), &[]).unwrap();
    assert_eq!(namespace(&controller, 1).flbas, 0);
}

#[test]
fn a_private_namespace_has_one_host_and_one_without_hosts_can_be_formatted() {
    let subsystem = subsystem();
    subsystem.drive.delete_namespace(1).unwrap();
    let [first, second] = [1, 2].map(|number| connect_host(&subsystem, number));
    let create = |nmic| {
        let request =
            NamespaceCreate { nsze: 8.into(), ncap: 8.into(), nmic, ..Default::default() };
        let sqe = sqe(AdminOpcode::NAMESPACE_MANAGEMENT, 0, 0);
        command(&first, 0, sqe, request.as_bytes()).unwrap().dw0
    };
    let attach = |nsid, controllers: &[&Controller], detach: bool| {
        let list = ControllerList::of(controllers.iter().map(|c| c.cntlid));
        let sqe = sqe(AdminOpcode::NAMESPACE_ATTACHMENT, u32::from(detach), 0);
        let done = command(&first, nsid, sqe, list.as_bytes());
        done.map_or_else(|failure| failure.status, |_| Status::SUCCESS)
    };
    let private = create(0);
    let format = FormatCdw10::new().with_lbafl(1).into_bits();
    command(&first, private, sqe(AdminOpcode::FORMAT_NVM, format, 0), &[]).unwrap();
    assert_eq!(attach(private, &[&first, &second], false), Status::NAMESPACE_IS_PRIVATE);
    assert_eq!(attach(private, &[&first], false), Status::SUCCESS);
    assert_eq!(attach(private, &[&second], false), Status::NAMESPACE_IS_PRIVATE);
    let id = namespace(&first, private);
    assert_eq!((id.nmic, id.flbas), (0, 1), "private, with the new format");
    assert_eq!(attach(private, &[&first], true), Status::SUCCESS);
    assert_eq!(attach(private, &[&second], false), Status::SUCCESS);
    let shared = create(1);
    assert_eq!(attach(shared, &[&first, &second], false), Status::SUCCESS);
    assert_eq!(namespace(&second, shared).nmic, 1);
}

#[test]
fn commands_of_one_namespace_refuse_all_and_inactive_ones() {
    let controller = fuzzing::connect(&subsystem());
    let mut queue = IoQueue::new(Arc::clone(&controller));
    let invalid = Status::INVALID_FIELD;
    for opcode in [
        NvmOpcode::READ,
        NvmOpcode::WRITE,
        NvmOpcode::WRITE_ZEROES,
        NvmOpcode::WRITE_UNCORRECTABLE,
        NvmOpcode::DATASET_MANAGEMENT,
        NvmOpcode::VERIFY,
    ] {
        for (nsid, status) in [(ALL, invalid), (0, Status::INVALID_NAMESPACE)] {
            let sqe = Sqe { opcode: opcode.0, nsid: nsid.into(), ..Default::default() };
            let done = queue.execute(&sqe, &[0; 4096], &mut Vec::new());
            assert_eq!(done.unwrap_err().status, status, "{opcode:?}");
        }
    }
    for cns in [Cns::NAMESPACE_DESCRIPTORS, Cns::ATTACHED_CONTROLLERS] {
        assert_eq!(identify(&controller, cns, ALL), Err(invalid));
        assert_eq!(identify(&controller, cns, 7), Err(invalid));
        assert_eq!(identify(&controller, cns, 0), Err(Status::INVALID_NAMESPACE));
        identify(&controller, cns, 1).unwrap();
    }
    for fid in [Fid::ERROR_RECOVERY, Fid::RESERVATION_NOTIFICATION, Fid::WRITE_PROTECTION] {
        let get = |nsid| {
            let done =
                command(&controller, nsid, sqe(AdminOpcode::GET_FEATURES, fid.0.into(), 0), &[]);
            done.map(|_| ()).map_err(|failure| failure.status)
        };
        assert_eq!([get(1), get(7), get(ALL)], [Ok(()), Err(invalid), Err(invalid)]);
        assert_eq!([get(0), get(300)], [Err(Status::INVALID_NAMESPACE); 2]);
    }
}
