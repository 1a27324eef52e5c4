//! Hostile hosts: sessions, PDUs and commands derived from the committed seeds; see `fuzz/README.md`.

#[path = "../../../fuzz/bounded.rs"]
mod bounded;

use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_target::fuzzing;
use wafer_target::fuzzing::{capsule, entry, opening, piece};

/// I/O commands of the seeds other than writes: opcode, CDW10, CDW12, bytes of data.
const IO_COMMANDS: [(NvmOpcode, u32, u32, usize); 10] = [
    (NvmOpcode::READ, 8, 7, 0),
    (NvmOpcode::FLUSH, 0, 0, 0),
    (NvmOpcode::WRITE_UNCORRECTABLE, 8, 3, 0),
    (NvmOpcode::WRITE_ZEROES, 16, 0x0200_0003, 0),
    (NvmOpcode::COMPARE, 8, 0, 512),
    (NvmOpcode::VERIFY, 8, 3, 0),
    (NvmOpcode::DATASET_MANAGEMENT, 1, 0, 32),
    (NvmOpcode::COPY, 64, 1, 64),
    (NvmOpcode::IO_MANAGEMENT_RECEIVE, 1, 0, 0),
    (NvmOpcode::IO_MANAGEMENT_SEND, 1, 0, 2),
];

/// Returns every admin and I/O command once, as a correct host sends them.
fn well_meant() -> Vec<Vec<u8>> {
    let admin = |opcode: AdminOpcode, cdw10: u32, cdw11: u32, nsid: u32| Sqe {
        opcode: opcode.0,
        flags: 0x40,
        nsid: nsid.into(),
        cdw10: cdw10.into(),
        cdw11: cdw11.into(),
        sgl: Sgl::transport(8192),
        ..Default::default()
    };
    let mut first = piece(0, &opening(0, 0xffff));
    for cns in 0..0x20 {
        first.extend(piece(0, &capsule(&admin(AdminOpcode::IDENTIFY, cns, 0, 1), &[])));
    }
    let mut logs = piece(0, &opening(0, 0xffff));
    for lid in [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0x12, 0x20, 0x21, 0x22, 0x23, 0x81, 0xc0, 0xc1, 0xc3, 0xd0,
        0x70,
    ] {
        let sqe = admin(AdminOpcode::GET_LOG_PAGE, lid | 0xff << 16, 1 << 16, 0);
        logs.extend(piece(0, &capsule(&sqe, &[])));
    }
    let mut features = piece(0, &opening(0, 0xffff));
    for fid in 0..0x20 {
        features.extend(piece(0, &capsule(&admin(AdminOpcode::GET_FEATURES, fid, 1, 1), &[])));
        let set = admin(AdminOpcode::SET_FEATURES, fid, 1 | 2 << 16, 1);
        features.extend(piece(0, &capsule(&set, &[0; 512])));
    }
    let mut manage = piece(0, &opening(0, 0xffff));
    let delete = admin(AdminOpcode::NAMESPACE_MANAGEMENT, 1, 0, 1);
    manage.extend(piece(0, &capsule(&delete, &[])));
    let mut create = NamespaceCreate { nsze: 512.into(), ncap: 512.into(), ..Default::default() };
    (create.flbas, create.nphndls) = (1, 2.into());
    create.phndl[1] = 1.into();
    let sqe = admin(AdminOpcode::NAMESPACE_MANAGEMENT, 0, 0, 0);
    manage.extend(piece(0, &capsule(&sqe, create.as_bytes())));
    let mut list = ControllerList { count: 1.into(), ..Default::default() };
    list.ids[0] = 2.into();
    let sqe = admin(AdminOpcode::NAMESPACE_ATTACHMENT, 0, 0, 1);
    manage.extend(piece(0, &capsule(&sqe, list.as_bytes())));
    for sqe in [
        admin(AdminOpcode::FORMAT_NVM, 1, 0, 1),
        admin(AdminOpcode::DIRECTIVE_RECEIVE, 1023, 1, 1),
        admin(AdminOpcode::ASYNC_EVENT_REQUEST, 0, 0, 0),
        admin(AdminOpcode::ABORT, 0, 0, 0),
        admin(AdminOpcode::KEEP_ALIVE, 0, 0, 0),
    ] {
        manage.extend(piece(0, &capsule(&sqe, &[])));
    }
    // The bystander has controller 1.
    let mut io = piece(0, &opening(0, 0xffff));
    io.extend(piece(1, &opening(1, 2)));
    let command = |opcode: NvmOpcode, cdw10: u32, cdw12: u32, cid: u16| Sqe {
        opcode: opcode.0,
        flags: 0x40,
        cid: cid.into(),
        nsid: 1.into(),
        cdw10: cdw10.into(),
        cdw12: cdw12.into(),
        cdw13: 0x1_0000.into(),
        sgl: Sgl::transport(8192),
        ..Default::default()
    };
    let placed = |nlb_z: u32| nlb_z | 2 << 20;
    io.extend(piece(1, &capsule(&command(NvmOpcode::WRITE, 8, placed(7), 1), &[5; 4096])));
    io.extend(piece(1, &capsule(&command(NvmOpcode::WRITE, 3, placed(0), 2), &[6; 512])));
    for (opcode, cdw10, cdw12, data) in IO_COMMANDS {
        let data = vec![0; data];
        io.extend(piece(1, &capsule(&command(opcode, cdw10, cdw12, 3), &data)));
    }
    // 8 KiB that are requested with R2T, in two PDUs.
    io.extend(piece(1, &capsule(&command(NvmOpcode::WRITE, 0, 15, 4), &[])));
    for (at, last) in [(0u32, false), (4096, true)] {
        let pdu = DataPdu {
            header: PduHeader {
                pdu_type: PduType::H2C_DATA.0,
                flags: PduFlags::new().with_last(last).into_bits(),
                hlen: 24,
                pdo: 24,
                plen: (24 + 4096).into(),
            },
            cccid: 4.into(),
            ttag: 0.into(),
            datao: at.into(),
            datal: 4096.into(),
            ..Default::default()
        };
        io.extend(piece(1, &[pdu.as_bytes(), &[8; 4096]].concat()));
    }
    vec![first, logs, features, manage, io, secret()]
}

/// Returns the session of a host that must authenticate and has no key.
fn secret() -> Vec<u8> {
    let auth = |fctype: FabricsType, length: u32| {
        let command = auth::AuthCommand {
            opcode: AdminOpcode::FABRICS.0,
            flags: 0x40,
            fctype: fctype.0,
            sgl: Sgl::transport(4096),
            spsp0: 1,
            spsp1: 1,
            secp: auth::SECURITY_PROTOCOL,
            length: length.into(),
            ..Default::default()
        };
        Sqe::read_from_bytes(command.as_bytes()).unwrap()
    };
    let mut reply = vec![0; 16 + 64];
    (reply[0], reply[1], reply[6]) = (1, 2, 32);
    let mut negotiate = vec![0; 8 + 64];
    // One protocol, DH-HMAC-CHAP, with SHA-256 and no group.
    (negotiate[7], negotiate[8], negotiate[10], negotiate[11], negotiate[12]) = (1, 1, 1, 1, 1);
    let mut bytes = piece(0x80, &opening(0, 0xffff));
    for message in [&negotiate, &reply] {
        let send = auth(FabricsType::AUTHENTICATION_SEND, message.len() as u32);
        bytes.extend(piece(0, &capsule(&send, message)));
        bytes.extend(piece(0, &capsule(&auth(FabricsType::AUTHENTICATION_RECEIVE, 4096), &[])));
    }
    bytes
}

/// Returns the same commands for the controller alone, with the data of a correct host.
fn commands() -> Vec<Vec<u8>> {
    let sqe = |opcode: u8, nsid: u32, cdw10: u32, cdw11: u32, cdw12: u32| Sqe {
        opcode,
        nsid: nsid.into(),
        cdw10: cdw10.into(),
        cdw11: cdw11.into(),
        cdw12: cdw12.into(),
        cdw13: 1.into(),
        ..Default::default()
    };
    let admin = |opcode: AdminOpcode, nsid, cdw10, cdw11| Sqe {
        cdw13: 0.into(),
        ..sqe(opcode.0, nsid, cdw10, cdw11, 0)
    };
    let mut inquiries = Vec::new();
    for cns in 0..0x20 {
        inquiries.extend(entry(false, &admin(AdminOpcode::IDENTIFY, 1, cns, 0), &[]));
    }
    for lid in [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0x12, 0x20, 0x21, 0x22, 0x23, 0x81, 0xc0, 0xc1, 0xc3, 0xd0,
        0x70,
    ] {
        let log = admin(AdminOpcode::GET_LOG_PAGE, 0, lid | 0xff << 16, 1 << 16);
        inquiries.extend(entry(false, &log, &[]));
    }
    let mut features = Vec::new();
    for fid in 0..0x20 {
        features.extend(entry(false, &admin(AdminOpcode::GET_FEATURES, 1, fid, 1), &[]));
        let set = admin(AdminOpcode::SET_FEATURES, 1, fid, 1 | 2 << 16);
        features.extend(entry(false, &set, &[0; 512]));
    }
    let mut manage = entry(false, &admin(AdminOpcode::NAMESPACE_MANAGEMENT, 1, 1, 0), &[]);
    let mut create = NamespaceCreate { nsze: 512.into(), ncap: 512.into(), ..Default::default() };
    (create.flbas, create.nphndls) = (1, 2.into());
    create.phndl[1] = 1.into();
    let sqe_create = admin(AdminOpcode::NAMESPACE_MANAGEMENT, 0, 0, 0);
    manage.extend(entry(false, &sqe_create, create.as_bytes()));
    let mut list = ControllerList { count: 1.into(), ..Default::default() };
    list.ids[0] = 1.into();
    let attach = admin(AdminOpcode::NAMESPACE_ATTACHMENT, 1, 0, 0);
    manage.extend(entry(false, &attach, list.as_bytes()));
    manage.extend(entry(false, &admin(AdminOpcode::FORMAT_NVM, 1, 1, 0), &[]));
    let mut io = Vec::new();
    let io_sqe = |opcode: NvmOpcode, cdw10, cdw12| sqe(opcode.0, 1, cdw10, 0, cdw12);
    let write = (NvmOpcode::WRITE, 8, 7 | 2 << 20, 4096);
    for (opcode, cdw10, cdw12, data) in [write].into_iter().chain(IO_COMMANDS) {
        io.extend(entry(true, &io_sqe(opcode, cdw10, cdw12), &vec![0; data]));
    }
    vec![inquiries, features, manage, io]
}

/// Returns one of each PDU that a host may send, with and without digests.
fn pdus() -> Vec<Vec<u8>> {
    let plain = [&[0][..], &opening(0, 0xffff), &capsule(&Sqe::default(), &[7; 100])].concat();
    let header = |pdu_type: PduType, flags, hlen: u8, plen: u32| PduHeader {
        pdu_type: pdu_type.0,
        flags,
        hlen,
        pdo: hlen,
        plen: plen.into(),
    };
    let digest = |bytes: &[u8]| wafer_nvme::crc32c(bytes).to_le_bytes();
    let mut head = header(PduType::H2C_DATA, 0b111, 24, 24 + 4 + 512 + 4);
    head.pdo = 28;
    let data = DataPdu { header: head, datal: 512.into(), ..Default::default() };
    let body = [9; 512];
    let digests = [&[3], data.as_bytes(), &digest(data.as_bytes()), &body, &digest(&body)].concat();
    let term = TermReq {
        header: PduHeader { pdo: 0, ..header(PduType::H2C_TERM_REQ, 0, 24, 24 + 8) },
        fes: 1.into(),
        ..Default::default()
    };
    let terminate = [&[0], term.as_bytes(), &[1; 8]].concat();
    vec![plain, digests, terminate]
}

#[test]
fn sessions_that_mean_well_complete() {
    let all: Vec<_> = well_meant().iter().map(|input| fuzzing::session(input)).collect();
    let has = |at: usize, note| assert!(all[at].contains(&note), "{at}: {:?}", all[at]);
    // Identify and logs return 4 KiB, I/O reads, R2T.
    has(0, (PduType::C2H_DATA.0, 0, 8));
    has(1, (PduType::C2H_DATA.0, 0, 2));
    has(4, (PduType::C2H_DATA.0, 0, 8));
    has(4, (PduType::R2T.0, 0, 16));
    // The challenge, and the reason why the reply is wrong.
    has(5, (PduType::C2H_DATA.0, 0, 0));
    for signature in &all {
        assert!(signature.contains(&(PduType::CAPSULE_RESP.0, 0, 0)));
        assert!(!signature.iter().any(|note| note.0 == PduType::C2H_TERM_REQ.0), "{signature:?}");
    }
}

#[test]
fn pdus_of_hosts_are_taken_apart() {
    let all: Vec<_> = pdus().iter().map(|input| fuzzing::pdu(input)).collect();
    assert!(all[0].contains(&(PduType::IC_REQ.0, 0, 1)), "{:?}", all[0]);
    assert!(all[0].contains(&(PduType::CAPSULE_CMD.0, 2, 1)), "{:?}", all[0]);
    assert_eq!(all[1], [(PduType::H2C_DATA.0, 1, 1)].into());
    assert_eq!(all[2], [(PduType::H2C_TERM_REQ.0, 0, 1)].into());
}

#[test]
fn commands_that_mean_well_succeed() {
    let all: Vec<_> = commands().iter().map(|input| fuzzing::command(input)).collect();
    for opcode in [AdminOpcode::IDENTIFY, AdminOpcode::GET_LOG_PAGE] {
        assert!(all[0].iter().any(|(s, what, _)| (*s, *what) == (0, u16::from(opcode.0))));
    }
    for sqe in [NvmOpcode::WRITE, NvmOpcode::READ, NvmOpcode::COPY, NvmOpcode::IO_MANAGEMENT_SEND] {
        let what = u16::from(sqe.0) | 1 << 8;
        assert!(all[3].iter().any(|(s, w, _)| (*s, *w) == (0, what)), "{sqe:?} {:?}", all[3]);
    }
}

#[test]
fn hostile_sessions() {
    bounded::fuzz("session", fuzzing::session, well_meant(), 15);
}

#[test]
fn hostile_pdus() {
    bounded::fuzz("pdu", fuzzing::pdu, pdus(), 3);
}

#[test]
fn hostile_commands() {
    bounded::fuzz("command", fuzzing::command, commands(), 6);
}
