//! Property Get.

use wafer_nvme::{Cap, Csts, Property, PropertyCommand, location};

use super::{Controller, Failure, MQES_Z, Reply, Size, VERSION};

pub(super) struct PropertyGet {
    property: Property,
    size: Size,
}

/// CAP.TO: 30 s to become ready, enough for any host.
const READY_HALF_SECONDS: u8 = 60;
/// CAP.CSS: the NVM command set, and the selection of command sets (CC.CSS 6).
const COMMAND_SETS: u8 = 0b0100_0001;
const CAP: Cap = Cap::new()
    .with_mqes_z(MQES_Z)
    .with_cqr(true)
    .with_to(READY_HALF_SECONDS)
    .with_css(COMMAND_SETS)
    .with_crwms(true);

impl PropertyGet {
    pub(super) fn parse(command: &PropertyCommand) -> Self {
        PropertyGet { property: Property(command.offset.get()), size: Size::of(command) }
    }

    pub(super) fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let value = match (self.property, self.size) {
            (Property::CAP, Size::Eight) => CAP.into_bits(),
            (Property::VS, Size::Four) => u64::from(VERSION),
            (Property::CC, Size::Four) => u64::from(controller.state().cc.into_bits()),
            (Property::CSTS, Size::Four) => u64::from(status(controller).into_bits()),
            (Property::NSSR, Size::Four) => 0,
            (Property::CRTO, Size::Four) => u64::from(READY_HALF_SECONDS),
            _ => return Err(location!(PropertyCommand, offset).into()),
        };
        Ok(Reply { dw0: value as u32, dw1: (value >> 32) as u32, ..Default::default() })
    }
}

fn status(controller: &Controller) -> Csts {
    let state = controller.state();
    let shst = if state.shutdown { 2 } else { 0 };
    Csts::new().with_rdy(state.cc.en()).with_shst(shst)
}
