//! Parsing and building PDUs.

use std::mem::offset_of;

use wafer_nvme::zerocopy::{FromBytes as _, Immutable, IntoBytes};
use wafer_nvme::*;

/// A fault of the peer that ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fatal {
    pub(crate) error: FatalError,
    /// Offset of the field at fault, or the digest; 0 if the specification defines none.
    pub(crate) information: u32,
}

/// Returns the fault of a header field at this offset.
pub(crate) fn header_fault(offset: usize) -> Fatal {
    fatal(FatalError::INVALID_HEADER, offset)
}

/// Returns a fault with the offset of the field, or 0.
pub(crate) fn fatal(error: FatalError, offset: usize) -> Fatal {
    Fatal { error, information: offset as u32 }
}

/// Maximum data of an H2CData PDU, which ICResp reports.
pub(crate) const MAX_H2C_DATA: u32 = 128 << 10;
/// Longest PDU of a host: header, digest and padding up to the largest PDO, then data and digest.
pub(crate) const MAX_PDU: usize = 255 + MAX_H2C_DATA as usize + DIGEST_BYTES;

/// Longest command capsule. Data beyond [`IO_CAPSULE_DATA`](wafer_controller::IO_CAPSULE_DATA) fails the command;
/// anything longer than this ends the connection.
pub(crate) const MAX_CAPSULE: usize = 32 << 10;

/// The negotiated parameters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(crate) header_digest: bool,
    pub(crate) data_digest: bool,
    /// Alignment of data in PDUs to the host, bytes.
    pub(crate) host_alignment: usize,
    /// Maximum number of outstanding Ready to Transfer PDUs per command.
    pub(crate) r2ts: usize,
}

/// One PDU of a host.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    pub(crate) pdu_type: PduType,
    /// The header, HLEN bytes.
    pub(crate) header: &'a [u8],
    pub(crate) data: &'a [u8],
    /// Whether the data digest is correct.
    pub(crate) data_intact: bool,
}

/// Returns the first PDU of `input` and its length, or `None` if it is incomplete.
pub(crate) fn parse<'a>(
    input: &'a [u8],
    agreed: &Agreed,
) -> Result<Option<(Incoming<'a>, usize)>, Fatal> {
    let Ok((common, _)) = PduHeader::ref_from_prefix(input) else { return Ok(None) };
    let pdu_type = PduType(common.pdu_type);
    let flags = PduFlags::from(common.flags);
    let (hlen, carries_data) = match pdu_type {
        PduType::IC_REQ => (size_of::<IcReq>(), false),
        PduType::CAPSULE_CMD => (size_of::<CapsuleCmd>(), true),
        PduType::H2C_DATA => (size_of::<DataPdu>(), true),
        PduType::H2C_TERM_REQ => (size_of::<TermReq>(), false),
        _ => return Err(header_fault(offset_of!(PduHeader, pdu_type))),
    };
    let plen = common.plen.get() as usize;
    if usize::from(common.hlen) != hlen {
        return Err(header_fault(offset_of!(PduHeader, hlen)));
    }
    // The first and the last PDU of a connection have no digests.
    let digests = carries_data;
    if flags.hdgst() != (digests && agreed.header_digest) {
        return Err(header_fault(offset_of!(PduHeader, flags)));
    }
    let head = hlen + if flags.hdgst() { DIGEST_BYTES } else { 0 };
    let pdo = usize::from(common.pdo);
    // Without data, PDO is reserved.
    let (start, end) = if carries_data && plen > head {
        let tail = if flags.ddgst() { DIGEST_BYTES } else { 0 };
        if flags.ddgst() != agreed.data_digest {
            return Err(header_fault(offset_of!(PduHeader, flags)));
        }
        if pdo < head || pdo % 4 != 0 {
            return Err(header_fault(offset_of!(PduHeader, pdo)));
        }
        if plen > MAX_PDU && pdu_type == PduType::H2C_DATA {
            return Err(fatal(FatalError::LIMIT_EXCEEDED, 0));
        }
        let most = if pdu_type == PduType::CAPSULE_CMD { MAX_CAPSULE } else { MAX_PDU };
        if plen > most || plen < pdo + tail + 1 {
            return Err(header_fault(offset_of!(PduHeader, plen)));
        }
        (pdo, plen - tail)
    } else if pdu_type == PduType::H2C_TERM_REQ {
        if !(hlen..=MAX_TERM_PLEN).contains(&plen) {
            return Err(header_fault(offset_of!(PduHeader, plen)));
        }
        (hlen, plen)
    } else {
        if plen != head {
            return Err(header_fault(offset_of!(PduHeader, plen)));
        }
        (head, head)
    };
    if input.len() < plen {
        return Ok(None);
    }
    if flags.hdgst() {
        let sent = digest_at(input, hlen);
        if sent != crc32c(&input[..hlen]) {
            return Err(Fatal { error: FatalError::HEADER_DIGEST, information: sent });
        }
    }
    let data = &input[start..end];
    let digested = flags.ddgst() && !data.is_empty();
    let data_intact = !digested || digest_at(input, end) == crc32c(data);
    let incoming = Incoming { pdu_type, header: &input[..hlen], data, data_intact };
    Ok(Some((incoming, plen)))
}

fn digest_at(input: &[u8], at: usize) -> u32 {
    U32::read_from_prefix(&input[at..]).map_or(0, |(digest, _)| digest.get())
}

/// Appends a PDU that consists only of a header.
pub(crate) fn push_header(out: &mut Vec<u8>, agreed: &Agreed, pdu: impl IntoBytes + Immutable) {
    let start = out.len();
    out.extend_from_slice(pdu.as_bytes());
    if agreed.header_digest {
        let digest = crc32c(&out[start..]);
        out.extend_from_slice(&digest.to_le_bytes());
    }
}

/// Returns the common header of a PDU without data.
pub(crate) fn plain_header(pdu_type: PduType, hlen: usize, agreed: &Agreed) -> PduHeader {
    let digest = if agreed.header_digest { DIGEST_BYTES } else { 0 };
    PduHeader {
        pdu_type: pdu_type.0,
        flags: PduFlags::new().with_hdgst(agreed.header_digest).into_bits(),
        hlen: hlen as u8,
        pdo: 0,
        plen: ((hlen + digest) as u32).into(),
    }
}

/// Appends a response capsule. Its length depends only on the negotiated parameters, so it can be replaced in place.
pub(crate) fn push_response(out: &mut Vec<u8>, agreed: &Agreed, cqe: Cqe) {
    let header = plain_header(PduType::CAPSULE_RESP, size_of::<CapsuleResp>(), agreed);
    push_header(out, agreed, CapsuleResp { header, cqe });
}

/// Returns the offset of data in a C2HData PDU.
fn data_offset(agreed: &Agreed) -> usize {
    let head = size_of::<DataPdu>() + if agreed.header_digest { DIGEST_BYTES } else { 0 };
    head.next_multiple_of(agreed.host_alignment.max(4))
}

/// Leaves room for the header of a C2HData PDU whose data is appended next, and returns its offset.
pub(crate) fn begin_data(out: &mut Vec<u8>, agreed: &Agreed) -> usize {
    let start = out.len();
    out.resize(start + data_offset(agreed), 0);
    start
}

/// Completes the C2HData PDU at `start` with everything appended since as its data. With `success`, no response capsule
/// follows. Without data, the PDU is dropped. Returns whether it was sent.
pub(crate) fn end_data(
    out: &mut Vec<u8>,
    agreed: &Agreed,
    start: usize,
    cid: u16,
    success: bool,
) -> bool {
    let pdo = data_offset(agreed);
    let length = out.len() - start - pdo;
    if length == 0 {
        out.truncate(start);
        return false;
    }
    if agreed.data_digest {
        let digest = crc32c(&out[start + pdo..]);
        out.extend_from_slice(&digest.to_le_bytes());
    }
    let flags = PduFlags::new()
        .with_hdgst(agreed.header_digest)
        .with_ddgst(agreed.data_digest)
        .with_last(true)
        .with_success(success);
    let pdu = DataPdu {
        header: PduHeader {
            pdu_type: PduType::C2H_DATA.0,
            flags: flags.into_bits(),
            hlen: size_of::<DataPdu>() as u8,
            pdo: pdo as u8,
            plen: ((out.len() - start) as u32).into(),
        },
        cccid: cid.into(),
        datal: (length as u32).into(),
        ..Default::default()
    };
    let hlen = size_of::<DataPdu>();
    out[start..start + hlen].copy_from_slice(pdu.as_bytes());
    if agreed.header_digest {
        let digest = crc32c(&out[start..start + hlen]);
        out[start + hlen..start + hlen + DIGEST_BYTES].copy_from_slice(&digest.to_le_bytes());
    }
    true
}

/// Appends a Terminate Connection Request with the host's header at fault.
pub(crate) fn push_terminate(out: &mut Vec<u8>, fatal: Fatal, culprit: &[u8]) {
    let hlen = size_of::<TermReq>();
    let culprit = &culprit[..culprit.len().min(MAX_TERM_PLEN - hlen)];
    let pdu = TermReq {
        header: PduHeader {
            pdu_type: PduType::C2H_TERM_REQ.0,
            flags: 0,
            hlen: hlen as u8,
            pdo: 0,
            plen: ((hlen + culprit.len()) as u32).into(),
        },
        fes: fatal.error.0.into(),
        fei: fatal.information.into(),
        ..Default::default()
    };
    out.extend_from_slice(pdu.as_bytes());
    out.extend_from_slice(culprit);
}
