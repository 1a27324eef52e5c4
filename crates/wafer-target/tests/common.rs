//! Host commands shared by all tests.

use std::sync::Arc;

use wafer_controller::{Controller, Failure, Reply, Subsystem, admin, fabrics};
use wafer_drive::Environment;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

pub(crate) fn sqe(opcode: AdminOpcode, cdw10: u32, cdw11: u32) -> Sqe {
    Sqe { opcode: opcode.0, cdw10: cdw10.into(), cdw11: cdw11.into(), ..Default::default() }
}

pub(crate) fn set(controller: &Controller, fid: Fid, value: u32) -> Result<Reply, Failure> {
    admin(controller, &sqe(AdminOpcode::SET_FEATURES, fid.0.into(), value), &[])
}

pub(crate) fn get(controller: &Controller, fid: Fid, value: u32) -> u32 {
    admin(controller, &sqe(AdminOpcode::GET_FEATURES, fid.0.into(), value), &[]).unwrap().dw0
}

/// Returns a log page of `N` dwords.
pub(crate) fn log<const N: usize>(controller: &Controller, lid: Lid, cdw11: u32) -> Vec<u8> {
    let page = GetLogCdw10::new().with_lid(lid.0).with_numdl_z(N as u16 - 1).into_bits();
    admin(controller, &sqe(AdminOpcode::GET_LOG_PAGE, page, cdw11), &[]).unwrap().data
}

pub(crate) fn smart(controller: &Controller) -> SmartLog {
    SmartLog::read_from_bytes(&log::<128>(controller, Lid::SMART, 0)).unwrap()
}

pub(crate) fn identify(controller: &Controller) -> IdentifyController {
    let command = sqe(AdminOpcode::IDENTIFY, u32::from(Cns::CONTROLLER.0), 0);
    let data = admin(controller, &command, &[]).unwrap().data;
    IdentifyController::read_from_bytes(&data).unwrap()
}

pub(crate) fn configure(controller: &Controller, cc: Cc) -> Result<Reply, Failure> {
    let command = PropertyCommand {
        opcode: AdminOpcode::FABRICS.0,
        fctype: FabricsType::PROPERTY_SET.0,
        offset: Property::CC.0.into(),
        value: u64::from(cc.into_bits()).into(),
        ..Default::default()
    };
    fabrics(controller, 0, &Sqe::read_from_bytes(command.as_bytes()).unwrap())
}

/// Connects a host whose name and identifier are derived from a number, and enables its controller.
pub(crate) fn connect_host(subsystem: &Arc<Subsystem>, number: u8) -> Arc<Controller> {
    let connect = ConnectCommand { sqsize_z: 31.into(), ..Default::default() };
    let data = ConnectData {
        hostid: [number; 16],
        cntlid: 0xffff.into(),
        subnqn: nqn_field(fuzzing::NQN),
        hostnqn: nqn_field(&format!("nqn.2026-11.io.wafer:host{number}")),
        ..Default::default()
    };
    let controller = subsystem.connect_admin(&connect, &data, String::new()).unwrap();
    let cc = Cc::new().with_en(true).with_iosqes(6).with_iocqes(4);
    configure(&controller, cc).unwrap();
    controller
}

pub(crate) fn subsystem() -> Arc<Subsystem> {
    fuzzing::subsystem_on(DataSpec::None, Environment::default())
}
