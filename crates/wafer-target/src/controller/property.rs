//! Properties: what Property Get and Property Set reach (Base 2.1, 3.1.4).

use wafer_spec::{Cap, Cc, Csts, Property, PropertyCommand, Status};

use super::{Controller, Failure, Kind, MQES_Z, Reply};

/// NVMe 2.1.
pub(crate) const VERSION: u32 = 0x0002_0100;

fn cap() -> Cap {
    // 30 s to become ready, as time enough for a host of whatever speed; NVM command set and the choice
    // of command sets (CC.CSS 6).
    Cap::new().with_mqes_z(MQES_Z).with_cqr(true).with_to(60).with_css(0b0100_0001)
}

impl Controller {
    /// Property Get.
    ///
    /// # Errors
    /// There is no such property of this size.
    pub fn property_get(&self, command: &PropertyCommand) -> Result<Reply, Failure> {
        let wide = command.attrib & 7 == 1;
        let value = match (Property(command.offset.get()), wide) {
            (Property::CAP, true) => cap().into_bits(),
            (Property::VS, false) => u64::from(VERSION),
            (Property::CC, false) => u64::from(self.state().cc.into_bits()),
            (Property::CSTS, false) => u64::from(self.csts().into_bits()),
            (Property::NSSR, false) => 0,
            _ => return Err(Failure::field(44)),
        };
        Ok(Reply { dw0: value as u32, dw1: (value >> 32) as u32, ..Default::default() })
    }

    fn csts(&self) -> Csts {
        let state = self.state();
        let shst = if state.shutdown { 2 } else { 0 };
        Csts::new().with_rdy(state.cc.en()).with_shst(shst)
    }

    /// Property Set. Only the configuration can be set.
    ///
    /// # Errors
    /// There is no such property, or it cannot be set.
    pub fn property_set(&self, command: &PropertyCommand) -> Result<Reply, Failure> {
        if Property(command.offset.get()) != Property::CC || command.attrib & 7 != 0 {
            return Err(Failure::field(44));
        }
        let cc = Cc::from_bits(command.value.get() as u32);
        let enabling = cc.en() && !self.state().cc.en();
        if enabling && (cc.mps() != 0 || cc.ams() != 0 || !matches!(cc.css(), 0 | 6)) {
            return Err(Failure::field(48));
        }
        let entries = (cc.iosqes(), cc.iocqes());
        if enabling && self.kind == Kind::Io && entries != (6, 4) && entries != (0, 0) {
            return Err(Failure::field(48));
        }
        let mut state = self.state();
        let was = std::mem::replace(&mut state.cc, cc);
        if cc.shn() != 0 {
            state.shutdown = true;
        }
        if was.en() && !cc.en() {
            // A controller level reset: features and requests start again, and its I/O queues go.
            state.shutdown = false;
            state.async_config = Default::default();
            state.async_requests.clear();
            state.plain_features.clear();
            state.notice_sent = false;
            state.notice_due = false;
        }
        Ok(Reply::default())
    }

    /// Whether admin commands other than fabrics ones are taken.
    pub(crate) fn check_enabled(&self) -> Result<(), Failure> {
        if self.state().cc.en() { Ok(()) } else { Err(Status::SEQUENCE_ERROR.into()) }
    }
}
