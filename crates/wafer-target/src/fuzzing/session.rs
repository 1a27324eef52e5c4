//! Sessions: an input is a session of several connections, and every response must be valid.
//!
//! An input is a list of pieces: the number of a connection in one byte, a length in two (little-endian), and the bytes
//! for this connection. If the first byte has bit 7 set, hosts must authenticate. The session runs on a new drive,
//! alongside a correct host that must not be disturbed.

use std::sync::Arc;

use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;

use super::{NQN, Signature, enable, subsystem};
use crate::transport::{Connection, Over};
use wafer_controller::{Access, HostEntry, MAX_TRANSFER, Subsystem};

/// NQN of the host of [`opening`].
const HOST: &str = "nqn.2026-11.io.wafer:host";
/// Connections of a session.
const CONNECTIONS: u8 = 4;

/// Runs a session.
///
/// # Panics
/// If the target sends an invalid PDU, disturbs another host, or violates an invariant of the device.
pub fn session(input: &[u8]) -> Signature {
    let subsystem = subsystem();
    let mut signature = Signature::new();
    let mut bystander = Peer::new(&subsystem);
    bystander.feed(&opening(0, 0xffff), &mut signature);
    if input.first().is_some_and(|first| first & 0x80 != 0) {
        subsystem.set_access(keyed());
    }
    let mut peers: Vec<Peer> = (0..CONNECTIONS).map(|_| Peer::new(&subsystem)).collect();
    signature.clear();
    let mut at = input;
    while let [connection, low, high, rest @ ..] = at {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (piece, rest) = rest.split_at(length);
        peers[usize::from(connection % CONNECTIONS)].feed(piece, &mut signature);
        at = rest;
    }
    let mut unused = Signature::new();
    let keep_alive = Sqe { opcode: AdminOpcode::KEEP_ALIVE.0, cid: 9.into(), ..Default::default() };
    let completions = bystander.feed(&capsule(&keep_alive, &[]), &mut unused);
    assert_eq!(completions, 1, "the other host gets its completion");
    drop(peers);
    assert_eq!(subsystem.controllers().len(), 1, "controllers go with their connections");
    subsystem.drive.check_invariants().expect("the device is whole");
    signature
}

/// Returns access for the host of [`opening`] only, with a key.
fn keyed() -> Access {
    let key = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:".parse();
    Access::listed(vec![HostEntry {
        nqn: HOST.to_owned(),
        manage: true,
        dhchap_key: Some(key.expect("a key")),
        ..HostEntry::default()
    }])
    .expect("a list")
}

/// One end of a connection, with the input that it has not consumed yet.
struct Peer {
    connection: Connection,
    input: Vec<u8>,
    over: Option<Over>,
}

impl Peer {
    fn new(subsystem: &Arc<Subsystem>) -> Self {
        let (local, pool) = ("127.0.0.1:4420".to_owned(), Arc::default());
        let connection = Connection::new(Arc::clone(subsystem), local, pool);
        Peer { connection, input: Vec::new(), over: None }
    }

    /// Feeds the connection and returns the number of PDUs that came back.
    fn feed(&mut self, bytes: &[u8], signature: &mut Signature) -> usize {
        if self.over.is_some() {
            return 0;
        }
        self.input.extend_from_slice(bytes);
        let (mut out, mut pdus) = (Vec::new(), 0);
        loop {
            let result = self.connection.receive(&self.input, &mut out);
            pdus += check(&out, signature);
            out.clear();
            match result {
                Ok(turn) => {
                    drop(self.input.drain(..turn.taken));
                    if !turn.more {
                        return pdus;
                    }
                }
                Err(over) => {
                    self.over = Some(over);
                    return pdus;
                }
            }
        }
    }
}

/// Checks what came back and returns the number of PDUs.
fn check(mut out: &[u8], signature: &mut Signature) -> usize {
    let mut count = 0;
    while !out.is_empty() {
        let (header, _) = PduHeader::read_from_prefix(out).expect("a whole header");
        let plen = header.plen.get() as usize;
        let pdu = out.get(..plen).expect("a whole PDU");
        assert!(plen >= usize::from(header.hlen), "{header:?}");
        let mut note = (header.pdu_type, 0, 0);
        match PduType(header.pdu_type) {
            PduType::IC_RESP => assert_eq!(plen, 128),
            PduType::CAPSULE_RESP => {
                let (response, _) = CapsuleResp::read_from_prefix(pdu).expect("a response");
                note.1 = StatusField::from_bits(response.cqe.status.get()).status();
            }
            PduType::C2H_DATA => {
                let (data, _) = DataPdu::read_from_prefix(pdu).expect("data");
                let digest = if PduFlags::from(header.flags).ddgst() { DIGEST_BYTES } else { 0 };
                let length = plen - usize::from(header.pdo) - digest;
                assert_eq!(data.datal.get() as usize, length);
                note.2 = (length / 512) as u16;
            }
            PduType::R2T => {
                let (r2t, _) = R2t::read_from_prefix(pdu).expect("an R2T");
                assert!(r2t.r2tl.get() > 0 && u64::from(r2t.r2tl.get()) <= MAX_TRANSFER);
                note.2 = (r2t.r2tl.get() / 512) as u16;
            }
            PduType::C2H_TERM_REQ => {
                let (term, _) = TermReq::read_from_prefix(pdu).expect("a terminate request");
                assert_eq!(plen, out.len(), "nothing follows a terminate request");
                note.1 = term.fes.get();
                note.2 = term.fei.get().min(64) as u16;
            }
            other => panic!("a controller never sends {other:?}"),
        }
        signature.insert(note);
        count += 1;
        out = &out[plen..];
    }
    count
}

/// Builds a command capsule without digests.
pub fn capsule(sqe: &Sqe, data: &[u8]) -> Vec<u8> {
    let hlen = size_of::<CapsuleCmd>();
    let header = PduHeader {
        pdu_type: PduType::CAPSULE_CMD.0,
        flags: 0,
        hlen: hlen as u8,
        pdo: if data.is_empty() { 0 } else { hlen as u8 },
        plen: ((hlen + data.len()) as u32).into(),
    };
    let sgl = match data.len() {
        0 => sqe.sgl,
        length => Sgl::in_capsule(0, length as u32),
    };
    let sqe = Sqe { sgl, ..*sqe };
    [CapsuleCmd { header, sqe }.as_bytes(), data].concat()
}

/// Builds the bytes with which a host connects a queue and, for the admin queue, enables the controller.
pub fn opening(qid: u16, cntlid: u16) -> Vec<u8> {
    let request = IcReq {
        header: PduHeader { hlen: 128, plen: 128.into(), ..Default::default() },
        ..Default::default()
    };
    let connect = ConnectCommand {
        opcode: AdminOpcode::FABRICS.0,
        fctype: FabricsType::CONNECT.0,
        qid: qid.into(),
        sqsize_z: 31.into(),
        cattr: 4,
        ..Default::default()
    };
    let data = ConnectData {
        cntlid: cntlid.into(),
        subnqn: nqn_field(NQN),
        hostnqn: nqn_field(HOST),
        ..Default::default()
    };
    let command = |bytes: &[u8]| Sqe::read_from_bytes(bytes).expect("64 bytes");
    let mut bytes = request.as_bytes().to_vec();
    bytes.extend(capsule(&command(connect.as_bytes()), data.as_bytes()));
    if qid == 0 {
        bytes.extend(capsule(&enable(), &[]));
    }
    bytes
}

/// Builds a piece of an input.
pub fn piece(connection: u8, bytes: &[u8]) -> Vec<u8> {
    let mut piece = vec![connection];
    piece.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    piece.extend_from_slice(bytes);
    piece
}
