//! The protocol of one connection, without I/O.

use std::collections::BTreeMap;
use std::io;

use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;

/// An error of a connection or a command.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The connection broke.
    #[error("connection: {0}")]
    Io(#[from] io::Error),
    /// The controller ended the connection with this error.
    #[error("the controller ended the connection: {0:?}")]
    Terminated(FatalError),
    /// The controller broke the protocol.
    #[error("the controller sent {0}")]
    Protocol(String),
    /// Authentication failed, at the controller or here.
    #[error("authentication: {0:?}")]
    Authentication(auth::Explanation),
    /// A command that must succeed failed.
    #[error("{command}: {status:?}")]
    Status {
        /// The command.
        command: &'static str,
        /// Its status.
        status: Status,
    },
}

/// Parameters of a connection.
#[derive(Clone, Copy, Debug)]
pub struct QueueOptions {
    /// Header digests.
    pub header_digest: bool,
    /// Data digests.
    pub data_digest: bool,
    /// Maximum number of outstanding Ready to Transfer PDUs of a command.
    pub r2ts: u32,
    /// Alignment of data in the controller's PDUs: 4 * (hpda + 1) bytes.
    pub hpda: u8,
    /// Entries of the submission queue.
    pub entries: u16,
    /// Maximum data in a command capsule, bytes.
    pub in_capsule: u32,
    /// Whether SQ flow control is disabled, so that reads need no response capsule.
    pub no_flow_control: bool,
}

impl Default for QueueOptions {
    fn default() -> Self {
        QueueOptions {
            header_digest: false,
            data_digest: false,
            r2ts: 1,
            hpda: 0,
            entries: 128,
            in_capsule: 8192,
            no_flow_control: true,
        }
    }
}

/// A completed command.
#[derive(Clone, Debug)]
pub struct Completion {
    /// Command identifier.
    pub cid: u16,
    /// Status.
    pub status: Status,
    /// Dwords 0 and 1.
    pub dw: u64,
    /// Do Not Retry: the same command would fail again.
    pub dnr: bool,
    /// Data that the controller sent.
    pub data: Vec<u8>,
}

struct Outstanding {
    /// Data to send outside the capsule.
    send: Vec<u8>,
    /// Data received.
    receive: Vec<u8>,
    received: usize,
}

/// Maximum length of a PDU from the controller, bytes.
pub(crate) const MAX_PDU: usize = 4 << 20;
/// Minimum of what a target may let hosts send in a PDU, bytes (MAXH2CDATA).
const LEAST_H2C: usize = 4096;

/// A connection with a queue: commands in, bytes out, and vice versa.
///
/// Its first output is ICReq; [`Self::receive`] takes ICResp like any other PDU.
pub struct Protocol {
    options: QueueOptions,
    initialized: bool,
    max_h2c: usize,
    outstanding: BTreeMap<u16, Outstanding>,
    next_cid: u16,
    out: Vec<u8>,
}

impl Protocol {
    /// Creates the state of a new connection.
    pub fn new(options: QueueOptions) -> Self {
        let request = IcReq {
            header: PduHeader {
                pdu_type: PduType::IC_REQ.0,
                hlen: 128,
                plen: 128.into(),
                ..Default::default()
            },
            hpda_z: options.hpda,
            dgst: digests(&options),
            maxr2t_z: (options.r2ts - 1).into(),
            ..Default::default()
        };
        Protocol {
            options,
            initialized: false,
            max_h2c: 0,
            outstanding: BTreeMap::new(),
            next_cid: 0,
            out: request.as_bytes().to_vec(),
        }
    }

    /// Returns whether the controller has responded to ICReq.
    pub fn is_initialized(&self) -> bool {
        self.initialized
    }

    /// Returns the bytes to send; the caller clears them after sending.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Returns the number of outstanding commands.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Forgets the outstanding commands, after a reset of their controller.
    pub fn abandon(&mut self) {
        self.outstanding.clear();
    }

    /// Returns whether another command may be submitted.
    pub fn has_room(&self) -> bool {
        self.outstanding.len() + 1 < usize::from(self.options.entries)
    }

    /// Adds a command to the output and returns its identifier. `send` is its data, `receive` the maximum number of
    /// bytes that it returns.
    pub fn submit(&mut self, mut sqe: Sqe, send: &[u8], receive: usize) -> u16 {
        while self.outstanding.contains_key(&self.next_cid) {
            self.next_cid = self.next_cid.wrapping_add(1);
        }
        let cid = self.next_cid;
        self.next_cid = cid.wrapping_add(1);
        sqe.cid = cid.into();
        sqe.flags |= 0x40;
        let capsule = !send.is_empty() && send.len() <= self.options.in_capsule as usize;
        sqe.sgl = if capsule {
            Sgl::in_capsule(0, send.len() as u32)
        } else {
            Sgl::transport(send.len().max(receive) as u32)
        };
        let hlen = size_of::<CapsuleCmd>();
        self.push(PduType::CAPSULE_CMD, hlen, if capsule { send } else { &[] }, |header| {
            CapsuleCmd { header, sqe }.as_bytes().to_vec()
        });
        let send = if capsule { Vec::new() } else { send.to_vec() };
        let wait = Outstanding { send, receive: vec![0; receive], received: 0 };
        self.outstanding.insert(cid, wait);
        cid
    }

    fn push(
        &mut self,
        pdu_type: PduType,
        hlen: usize,
        data: &[u8],
        bytes: impl FnOnce(PduHeader) -> Vec<u8>,
    ) {
        let (hdgst, ddgst) =
            (self.options.header_digest, self.options.data_digest && !data.is_empty());
        let pdo = hlen + if hdgst { DIGEST_BYTES } else { 0 };
        let plen = pdo + data.len() + if ddgst { DIGEST_BYTES } else { 0 };
        let flags = PduFlags::new()
            .with_hdgst(hdgst)
            .with_ddgst(ddgst)
            .with_last(pdu_type == PduType::H2C_DATA);
        let header = PduHeader {
            pdu_type: pdu_type.0,
            flags: flags.into_bits(),
            hlen: hlen as u8,
            pdo: if data.is_empty() { 0 } else { pdo as u8 },
            plen: (plen as u32).into(),
        };
        let bytes = bytes(header);
        self.out.extend_from_slice(&bytes);
        if hdgst {
            self.out.extend_from_slice(&crc32c(&bytes).to_le_bytes());
        }
        self.out.extend_from_slice(data);
        if ddgst {
            self.out.extend_from_slice(&crc32c(data).to_le_bytes());
        }
    }

    /// Returns the length of the PDU at the start of `input`, or `None` while its header is incomplete.
    ///
    /// # Errors
    /// The length is invalid.
    pub fn pdu_length(input: &[u8]) -> Result<Option<usize>, HostError> {
        let Ok((header, _)) = PduHeader::ref_from_prefix(input) else { return Ok(None) };
        let length = header.plen.get() as usize;
        if length > MAX_PDU || length < usize::from(header.hlen).max(size_of::<PduHeader>()) {
            return Err(HostError::Protocol("a PDU of impossible length".to_owned()));
        }
        Ok(Some(length))
    }

    /// Takes a complete PDU and returns its completion, if any.
    ///
    /// # Errors
    /// The controller ended the connection, or broke the protocol.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Option<Completion>, HostError> {
        let wrong = |what: &str| HostError::Protocol(what.to_owned());
        let header = PduHeader::read_from_prefix(bytes);
        let header = header.map(|(h, _)| h).map_err(|_| wrong("a truncated PDU"))?;
        let plen = bytes.len();
        let hlen = usize::from(header.hlen);
        if !self.initialized {
            return self.initialize(bytes).map(|()| None);
        }
        let pdu_type = PduType(header.pdu_type);
        let flags = PduFlags::from(header.flags);
        if pdu_type == PduType::C2H_TERM_REQ {
            let (term, _) = TermReq::read_from_prefix(bytes)
                .map_err(|_| wrong("a truncated terminate request"))?;
            return Err(HostError::Terminated(FatalError(term.fes.get())));
        }
        if flags.hdgst() != self.options.header_digest {
            return Err(wrong("a PDU whose header digest flag was not agreed on"));
        }
        if flags.hdgst() {
            let sent = bytes.get(hlen..hlen + DIGEST_BYTES).ok_or_else(|| wrong("no digest"))?;
            if sent != crc32c(&bytes[..hlen]).to_le_bytes() {
                return Err(wrong("a wrong header digest"));
            }
        }
        match pdu_type {
            PduType::CAPSULE_RESP => {
                let (pdu, _) = CapsuleResp::read_from_prefix(bytes)
                    .map_err(|_| wrong("a truncated response"))?;
                let status = StatusField::from_bits(pdu.cqe.status.get());
                let dw = u64::from(pdu.cqe.dw0.get()) | u64::from(pdu.cqe.dw1.get()) << 32;
                let cid = pdu.cqe.cid.get();
                let done = self.outstanding.remove(&cid);
                let mut done = done.ok_or_else(|| wrong("a completion for an unknown command"))?;
                done.receive.truncate(done.received);
                Ok(Some(Completion {
                    cid,
                    status: Status(status.status()),
                    dw,
                    dnr: status.dnr(),
                    data: done.receive,
                }))
            }
            PduType::C2H_DATA => {
                let (pdu, _) =
                    DataPdu::read_from_prefix(bytes).map_err(|_| wrong("a truncated data PDU"))?;
                let pdo = usize::from(header.pdo);
                let length = pdu.datal.get() as usize;
                let tail = if flags.ddgst() { DIGEST_BYTES } else { 0 };
                if flags.ddgst() != self.options.data_digest || plen != pdo + length + tail {
                    return Err(wrong("data of a length that differs from its header"));
                }
                if pdo % (4 * (usize::from(self.options.hpda) + 1)) != 0 {
                    return Err(wrong("misaligned data"));
                }
                let data = &bytes[pdo..pdo + length];
                if tail > 0 && bytes[pdo + length..] != crc32c(data).to_le_bytes() {
                    return Err(wrong("a wrong data digest"));
                }
                let cid = pdu.cccid.get();
                let waits = self.outstanding.get_mut(&cid);
                let waits = waits.ok_or_else(|| wrong("data for an unknown command"))?;
                let at = pdu.datao.get() as usize;
                let target = waits.receive.get_mut(at..at + length);
                target.ok_or_else(|| wrong("more data than requested"))?.copy_from_slice(data);
                waits.received += length;
                if !flags.success() {
                    return Ok(None);
                }
                if !flags.last() || !self.options.no_flow_control {
                    return Err(wrong("an unexpected success flag"));
                }
                let done = self.outstanding.remove(&cid);
                Ok(done.map(|done| Completion {
                    cid,
                    status: Status::SUCCESS,
                    dw: 0,
                    dnr: false,
                    data: done.receive,
                }))
            }
            PduType::R2T => {
                let (pdu, _) =
                    R2t::read_from_prefix(bytes).map_err(|_| wrong("a truncated R2T"))?;
                self.send_data(&pdu)?;
                Ok(None)
            }
            other => Err(HostError::Protocol(format!("{other:?}"))),
        }
    }

    fn initialize(&mut self, bytes: &[u8]) -> Result<(), HostError> {
        let response = IcResp::read_from_prefix(bytes).map(|(r, _)| r);
        let response = response.map_err(|_| HostError::Protocol("a truncated PDU".to_owned()))?;
        if response.header.pdu_type != PduType::IC_RESP.0 || response.dgst != digests(&self.options)
        {
            return Err(HostError::Protocol(format!("{response:?} for ICResp")));
        }
        self.max_h2c = response.maxh2cdata.get() as usize;
        if self.max_h2c < LEAST_H2C {
            return Err(HostError::Protocol(format!("{} bytes of data per PDU", self.max_h2c)));
        }
        self.initialized = true;
        Ok(())
    }

    /// Sends the data that a Ready to Transfer requests.
    fn send_data(&mut self, r2t: &R2t) -> Result<(), HostError> {
        let cid = r2t.cccid.get();
        let (from, length) = (r2t.r2to.get() as usize, r2t.r2tl.get() as usize);
        let part = self.outstanding.get(&cid).and_then(|o| o.send.get(from..from + length));
        let part = part.ok_or_else(|| {
            HostError::Protocol("an R2T for an unknown command or range".to_owned())
        })?;
        let part = part.to_vec();
        let mut at = 0;
        while at < length {
            let count = (length - at).min(self.max_h2c);
            let last = at + count == length;
            let (ttag, datao) = (r2t.ttag, (from + at) as u32);
            let hlen = size_of::<DataPdu>();
            self.push(PduType::H2C_DATA, hlen, &part[at..at + count], |mut header| {
                header.flags = PduFlags::from(header.flags).with_last(last).into_bits();
                let pdu = DataPdu {
                    header,
                    cccid: cid.into(),
                    ttag,
                    datao: datao.into(),
                    datal: (count as u32).into(),
                    ..Default::default()
                };
                pdu.as_bytes().to_vec()
            });
            at += count;
        }
        Ok(())
    }
}

fn digests(options: &QueueOptions) -> u8 {
    u8::from(options.header_digest) | u8::from(options.data_digest) << 1
}
