//! The PDU decoder alone: an input is one byte of negotiated parameters, followed by the host's bytes.

use super::Signature;
use crate::transport::pdu::{Agreed, parse};

/// Takes complete PDUs off the input.
///
/// # Panics
/// If the decoder reports a wrong length, reads beyond a PDU, or decides before the PDU is complete.
pub fn pdu(input: &[u8]) -> Signature {
    let mut signature = Signature::new();
    let Some((options, mut rest)) = input.split_first() else { return signature };
    let agreed = Agreed {
        header_digest: options & 1 != 0,
        data_digest: options & 2 != 0,
        host_alignment: (usize::from(options >> 3) + 1) * 4,
        r2ts: 1,
    };
    loop {
        let (incoming, length) = match parse(rest, &agreed) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => {
                // An incomplete PDU is short, which bounds the memory of a connection.
                assert!(rest.len() < crate::transport::pdu::MAX_PDU, "{} bytes", rest.len());
                return signature;
            }
            Err(fatal) => {
                signature.insert((0xff, fatal.error.0, fatal.information.min(64) as u16));
                return signature;
            }
        };
        assert!(length > 0 && length <= rest.len(), "{length} of {}", rest.len());
        assert!(incoming.header.len() + incoming.data.len() <= length);
        assert_eq!(incoming.header, &rest[..incoming.header.len()]);
        // A part of a PDU is never taken for the whole.
        for cut in [1, 7, 8, length / 2, length - 1] {
            if cut < length {
                assert!(
                    matches!(parse(&rest[..cut], &agreed), Ok(None)),
                    "{cut} of {length} bytes"
                );
            }
        }
        let data = incoming.data.len().min(0xffff) as u16;
        signature.insert((incoming.pdu_type.0, data / 512, u16::from(incoming.data_intact)));
        rest = &rest[length..];
    }
}
