//! Authentication commands, and the DH-HMAC-CHAP messages they carry (Base 2.1, 6.1, 6.2 and 8.3.5.5).

use crate::{U16, U32, layout, open_enum};

/// Security Protocol (SECP) of the commands: in-band authentication.
pub const SECURITY_PROTOCOL: u8 = 0xe9;
/// SP Specific 0 and 1 of the commands.
pub const PROTOCOL_SPECIFIC: [u8; 2] = [1, 1];
/// AUTHREQ in dword 0 of the completion of Connect: the host must authenticate (ATR).
pub const REQUIRED: u32 = 1 << 17;
/// Number of hash functions, and of groups, in a protocol descriptor.
pub const IDS: usize = 30;

layout! {
    /// Authentication Send and Authentication Receive commands.
    pub struct AuthCommand: 64 {
        /// 0x7f.
        pub opcode: u8,
        /// PSDT.
        pub flags: u8,
        /// Command Identifier.
        pub cid: U16,
        /// 0x05 or 0x06.
        pub fctype: u8,
        #[doc(hidden)]
        pub rsvd5: [u8; 19],
        /// Location of the data.
        pub sgl: crate::Sgl,
        #[doc(hidden)]
        pub rsvd40: u8,
        /// SP Specific 0.
        pub spsp0: u8,
        /// SP Specific 1.
        pub spsp1: u8,
        /// Security Protocol.
        pub secp: u8,
        /// Bytes: Transfer Length of Send, Allocation Length of Receive.
        pub length: U32,
        #[doc(hidden)]
        pub rsvd48: [u8; 16],
    } at { fctype: 4, sgl: 24, spsp0: 41, spsp1: 42, secp: 43, length: 44 }
}

open_enum! {
    /// Kind of a message: its type in the low byte, its identifier in the high byte.
    MessageKind(u16) {
        /// AUTH_Negotiate, from the host.
        NEGOTIATE = 0x0000,
        /// DH-HMAC-CHAP_Challenge, from the controller.
        CHALLENGE = 0x0101,
        /// DH-HMAC-CHAP_Reply, from the host.
        REPLY = 0x0201,
        /// DH-HMAC-CHAP_Success1, from the controller.
        SUCCESS1 = 0x0301,
        /// DH-HMAC-CHAP_Success2, from the host.
        SUCCESS2 = 0x0401,
        /// AUTH_Failure2, from the host.
        FAILURE2 = 0xf000,
        /// AUTH_Failure1, from the controller.
        FAILURE1 = 0xf100,
    }
}

open_enum! {
    /// Reason Code Explanation of AUTH_Failure1 and AUTH_Failure2.
    Explanation(u8) {
        /// Authentication failed.
        FAILED = 1,
        /// Authentication protocol not usable.
        PROTOCOL_NOT_USABLE = 2,
        /// Secure channel concatenation mismatch.
        CONCATENATION_MISMATCH = 3,
        /// Hash function not usable.
        HASH_NOT_USABLE = 4,
        /// DH group not usable.
        GROUP_NOT_USABLE = 5,
        /// Incorrect payload.
        INCORRECT_PAYLOAD = 6,
        /// Incorrect protocol message.
        INCORRECT_MESSAGE = 7,
    }
}

open_enum! {
    /// Hash function identifier.
    HashId(u8) {
        /// SHA-256.
        SHA_256 = 1,
        /// SHA-384.
        SHA_384 = 2,
        /// SHA-512.
        SHA_512 = 3,
    }
}

open_enum! {
    /// Diffie-Hellman group identifier.
    GroupId(u8) {
        /// No Diffie-Hellman exchange.
        NULL = 0,
        /// ffdhe2048 of RFC 7919.
        FFDHE_2048 = 1,
        /// ffdhe3072.
        FFDHE_3072 = 2,
        /// ffdhe4096.
        FFDHE_4096 = 3,
        /// ffdhe6144.
        FFDHE_6144 = 4,
        /// ffdhe8192.
        FFDHE_8192 = 5,
    }
}

/// Authentication Protocol Identifier of DH-HMAC-CHAP.
pub const DH_HMAC_CHAP: u8 = 1;

layout! {
    /// Head of every message.
    pub struct MessageHead: 6 {
        /// A [`MessageKind`]: AUTH_TYPE and AUTH_ID.
        pub kind: U16,
        #[doc(hidden)]
        pub rsvd2: U16,
        /// Transaction Identifier.
        pub transaction: U16,
    }
}

layout! {
    /// AUTH_Negotiate; [`Protocol`]s follow.
    pub struct Negotiate: 8 {
        /// Head.
        pub head: MessageHead,
        /// Secure Channel Concatenation; 0 is none.
        pub sc_c: u8,
        /// Number of protocols.
        pub napd: u8,
    } at { sc_c: 6, napd: 7 }
}

layout! {
    /// Authentication protocol descriptor of DH-HMAC-CHAP.
    pub struct Protocol: 64 {
        /// Authentication Protocol Identifier.
        pub authid: u8,
        #[doc(hidden)]
        pub rsvd1: u8,
        /// Number of hash functions.
        pub halen: u8,
        /// Number of groups.
        pub dhlen: u8,
        /// [`HashId`]s.
        pub hashes: [u8; IDS],
        /// [`GroupId`]s.
        pub groups: [u8; IDS],
    } at { hashes: 4, groups: 34 }
}

layout! {
    /// DH-HMAC-CHAP_Challenge; the challenge value and the DH value follow.
    pub struct ChallengeMessage: 16 {
        /// Head.
        pub head: MessageHead,
        /// Length of a hash, bytes.
        pub hl: u8,
        #[doc(hidden)]
        pub rsvd7: u8,
        /// A [`HashId`].
        pub hash: u8,
        /// A [`GroupId`].
        pub group: u8,
        /// Length of the DH value, bytes.
        pub dhvlen: U16,
        /// Sequence number S1.
        pub sequence: U32,
    } at { hl: 6, hash: 8, dhvlen: 10, sequence: 12 }
}

layout! {
    /// DH-HMAC-CHAP_Reply; the response, the challenge value C2 and the DH value follow.
    pub struct ReplyMessage: 16 {
        /// Head.
        pub head: MessageHead,
        /// Length of a hash, bytes.
        pub hl: u8,
        #[doc(hidden)]
        pub rsvd7: u8,
        /// 1 if there is a challenge value.
        pub cvalid: u8,
        #[doc(hidden)]
        pub rsvd9: u8,
        /// Length of the DH value, bytes.
        pub dhvlen: U16,
        /// Sequence number S2; 0 if the controller is not challenged.
        pub sequence: U32,
    } at { hl: 6, cvalid: 8, dhvlen: 10, sequence: 12 }
}

layout! {
    /// DH-HMAC-CHAP_Success1; the response follows, if there is one.
    pub struct Success1: 16 {
        /// Head.
        pub head: MessageHead,
        /// Length of a hash, bytes.
        pub hl: u8,
        #[doc(hidden)]
        pub rsvd7: u8,
        /// 1 if there is a response.
        pub rvalid: u8,
        #[doc(hidden)]
        pub rsvd9: [u8; 7],
    } at { hl: 6, rvalid: 8 }
}

layout! {
    /// DH-HMAC-CHAP_Success2.
    pub struct Success2: 16 {
        /// Head.
        pub head: MessageHead,
        #[doc(hidden)]
        pub rsvd6: [u8; 10],
    }
}

layout! {
    /// AUTH_Failure1 and AUTH_Failure2.
    pub struct FailureMessage: 8 {
        /// Head.
        pub head: MessageHead,
        /// Reason Code, 1: authentication failure.
        pub reason: u8,
        /// An [`Explanation`].
        pub explanation: u8,
    } at { reason: 6, explanation: 7 }
}

impl MessageHead {
    /// Returns the head of a message.
    pub fn new(kind: MessageKind, transaction: u16) -> Self {
        MessageHead { kind: kind.0.into(), rsvd2: 0.into(), transaction: transaction.into() }
    }
}

impl FailureMessage {
    /// Returns the message.
    pub fn new(kind: MessageKind, transaction: u16, explanation: Explanation) -> Self {
        let head = MessageHead::new(kind, transaction);
        FailureMessage { head, reason: 1, explanation: explanation.0 }
    }
}
