//! Admin and fabrics commands as submission queue entries.

use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;

use crate::options::HostOptions;

/// Creates submission queue entries for the admin queue, and those that connect a queue.
#[derive(Clone, Copy, Debug)]
pub struct Admin;

impl Admin {
    /// Creates a Connect and its data.
    pub fn connect(options: &HostOptions, qid: u16, cntlid: u16, entries: u16) -> (Sqe, Vec<u8>) {
        let command = ConnectCommand {
            opcode: AdminOpcode::FABRICS.0,
            fctype: FabricsType::CONNECT.0,
            qid: qid.into(),
            sqsize_z: (entries - 1).into(),
            cattr: if options.queue.no_flow_control { 4 } else { 0 },
            kato: options.kato.into(),
            ..Default::default()
        };
        let data = ConnectData {
            hostid: options.hostid,
            cntlid: cntlid.into(),
            subnqn: nqn_field(&options.subnqn),
            hostnqn: nqn_field(&options.hostnqn),
            ..Default::default()
        };
        (Sqe::read_from_bytes(command.as_bytes()).expect("64 bytes"), data.as_bytes().to_vec())
    }

    /// Creates a Property Set.
    pub fn property_set(property: Property, value: u64) -> Sqe {
        Self::property(FabricsType::PROPERTY_SET, property, value)
    }

    /// Creates a Property Get.
    pub fn property_get(property: Property) -> Sqe {
        Self::property(FabricsType::PROPERTY_GET, property, 0)
    }

    fn property(fctype: FabricsType, property: Property, value: u64) -> Sqe {
        let command = PropertyCommand {
            opcode: AdminOpcode::FABRICS.0,
            fctype: fctype.0,
            attrib: u8::from(matches!(property, Property::CAP)),
            offset: property.0.into(),
            value: value.into(),
            ..Default::default()
        };
        Sqe::read_from_bytes(command.as_bytes()).expect("64 bytes")
    }

    /// Creates an Authentication Send or Receive of this many bytes.
    pub fn authentication(fctype: FabricsType, length: usize) -> Sqe {
        let command = auth::AuthCommand {
            opcode: AdminOpcode::FABRICS.0,
            fctype: fctype.0,
            spsp0: auth::PROTOCOL_SPECIFIC[0],
            spsp1: auth::PROTOCOL_SPECIFIC[1],
            secp: auth::SECURITY_PROTOCOL,
            length: (length as u32).into(),
            ..Default::default()
        };
        Sqe::read_from_bytes(command.as_bytes()).expect("64 bytes")
    }

    /// Creates an Identify, which returns 4,096 bytes.
    pub fn identify(cns: Cns, nsid: u32) -> Sqe {
        Sqe {
            opcode: AdminOpcode::IDENTIFY.0,
            nsid: nsid.into(),
            cdw10: u32::from(cns.0).into(),
            ..Default::default()
        }
    }

    /// Creates a Get Log Page of `bytes` bytes. `lsp` and `lsi` are parameters defined by the page.
    pub fn log(lid: Lid, lsp: u8, lsi: u16, bytes: u32) -> Sqe {
        let dwords_z = bytes / 4 - 1;
        let cdw10 = GetLogCdw10::new().with_lid(lid.0).with_lsp(lsp).with_numdl_z(dwords_z as u16);
        let cdw11 = GetLogCdw11::new().with_numdu((dwords_z >> 16) as u16).with_lsi(lsi);
        Sqe {
            opcode: AdminOpcode::GET_LOG_PAGE.0,
            nsid: 0xffff_ffff.into(),
            cdw10: cdw10.into_bits().into(),
            cdw11: cdw11.into_bits().into(),
            ..Default::default()
        }
    }
}
