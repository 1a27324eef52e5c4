//! The host's end.

use subtle::ConstantTimeEq as _;
use wafer_nvme::auth::{
    ChallengeMessage, DH_HMAC_CHAP, Explanation, FailureMessage, GroupId, HashId, IDS, MessageHead,
    MessageKind, Negotiate, Protocol, ReplyMessage, Success1, Success2,
};
use wafer_nvme::zerocopy::{FromBytes, Immutable, IntoBytes as _, KnownLayout};

use crate::response::{Challenge, Names, Prover};
use crate::{Entropy, Group, Hash, Secret};

/// The host's end of one transaction.
#[derive(Debug)]
pub struct Host {
    names: Names,
    secret: Secret,
    controller_secret: Option<Secret>,
    transaction: u16,
    /// The response that the controller must return.
    expected: Option<Vec<u8>>,
}

impl Host {
    /// Creates a transaction. With `controller_secret`, the controller must authenticate too.
    pub fn new(
        host_nqn: &str,
        subsystem_nqn: &str,
        secret: Secret,
        controller_secret: Option<Secret>,
        transaction: u16,
    ) -> Self {
        let names = Names { host: host_nqn.to_owned(), subsystem: subsystem_nqn.to_owned() };
        Host { names, secret, controller_secret, transaction, expected: None }
    }

    /// Returns the first message, which offers these hash functions and groups, at most 30 of each.
    pub fn negotiate(&self, hashes: &[Hash], groups: &[Group]) -> Vec<u8> {
        let mut protocol = Protocol {
            authid: DH_HMAC_CHAP,
            rsvd1: 0,
            halen: hashes.len().min(IDS) as u8,
            dhlen: groups.len().min(IDS) as u8,
            hashes: [0; IDS],
            groups: [0; IDS],
        };
        protocol.hashes.iter_mut().zip(hashes).for_each(|(id, hash)| *id = hash.id().0);
        protocol.groups.iter_mut().zip(groups).for_each(|(id, group)| *id = group.id().0);
        let head = MessageHead::new(MessageKind::NEGOTIATE, self.transaction);
        let negotiate = Negotiate { head, sc_c: 0, napd: 1 };
        [negotiate.as_bytes(), protocol.as_bytes()].concat()
    }

    /// Takes the challenge and returns the reply.
    ///
    /// # Errors
    /// Why the transaction failed at the controller, or fails here.
    pub fn reply(&mut self, message: &[u8], entropy: Entropy<'_>) -> Result<Vec<u8>, Explanation> {
        let malformed = Explanation::INCORRECT_PAYLOAD;
        let (challenge, rest) = self.parse::<ChallengeMessage>(message, MessageKind::CHALLENGE)?;
        let hash = Hash::of(HashId(challenge.hash)).ok_or(Explanation::HASH_NOT_USABLE)?;
        let group = Group::of(GroupId(challenge.group)).ok_or(Explanation::GROUP_NOT_USABLE)?;
        let public = usize::from(challenge.dhvlen.get());
        if usize::from(challenge.hl) != hash.length()
            || public != group.length()
            || rest.len() < hash.length() + public
        {
            return Err(malformed);
        }
        let (value, rest) = rest.split_at(hash.length());
        let keys = group.keys(entropy);
        let shared = match &keys {
            Some(keys) => Some(keys.shared(&rest[..public]).ok_or(Explanation::GROUP_NOT_USABLE)?),
            None => None,
        };
        let (transaction, sequence) = (self.transaction, challenge.sequence.get());
        let challenge = Challenge { hash, value: value.to_vec(), sequence, transaction, shared };
        let key = self.secret.key(&self.names.host);
        let response = challenge.response(Prover::Host, &key, &self.names);
        let mut own = vec![0; hash.length()];
        let sequence = u32::from(self.controller_secret.is_some());
        if let Some(secret) = &self.controller_secret {
            entropy(&mut own);
            let key = secret.key(&self.names.subsystem);
            let challenge = Challenge { value: own.clone(), sequence, ..challenge };
            self.expected = Some(challenge.response(Prover::Controller, &key, &self.names));
        }
        let public = keys.map_or_else(Vec::new, |keys| keys.public);
        let reply = ReplyMessage {
            head: MessageHead::new(MessageKind::REPLY, self.transaction),
            hl: hash.length() as u8,
            rsvd7: 0,
            cvalid: self.controller_secret.is_some().into(),
            rsvd9: 0,
            dhvlen: (public.len() as u16).into(),
            sequence: sequence.into(),
        };
        Ok([reply.as_bytes(), &response, &own, &public].concat())
    }

    /// Takes the outcome and returns the last message, which is due only if the controller was challenged.
    ///
    /// # Errors
    /// Why the transaction failed at the controller, or fails here.
    pub fn success(&self, message: &[u8]) -> Result<Option<Vec<u8>>, Explanation> {
        let (success, rest) = self.parse::<Success1>(message, MessageKind::SUCCESS1)?;
        let Some(expected) = &self.expected else { return Ok(None) };
        let response = rest.get(..expected.len()).filter(|_| success.rvalid == 1);
        match response {
            Some(response) if expected.ct_eq(response).into() => {
                let head = MessageHead::new(MessageKind::SUCCESS2, self.transaction);
                Ok(Some(Success2 { head, rsvd6: [0; 10] }.as_bytes().to_vec()))
            }
            _ => Err(Explanation::FAILED),
        }
    }

    /// Returns the message that tells the controller why the transaction fails here.
    pub fn failure(&self, explanation: Explanation) -> Vec<u8> {
        let kind = MessageKind::FAILURE2;
        FailureMessage::new(kind, self.transaction, explanation).as_bytes().to_vec()
    }

    /// Returns a message from the controller and the bytes that follow it.
    fn parse<'a, T: FromBytes + KnownLayout + Immutable>(
        &self,
        message: &'a [u8],
        expected: MessageKind,
    ) -> Result<(T, &'a [u8]), Explanation> {
        let malformed = Explanation::INCORRECT_PAYLOAD;
        let (head, _) = MessageHead::ref_from_prefix(message).map_err(|_| malformed)?;
        let kind = MessageKind(head.kind.get());
        if kind == MessageKind::FAILURE1 {
            let (failure, _) = FailureMessage::ref_from_prefix(message).map_err(|_| malformed)?;
            return Err(Explanation(failure.explanation));
        }
        if kind != expected || head.transaction.get() != self.transaction {
            return Err(Explanation::INCORRECT_MESSAGE);
        }
        T::read_from_prefix(message).map_err(|_| malformed)
    }
}
