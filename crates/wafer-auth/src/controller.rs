//! The controller's end.

use subtle::ConstantTimeEq as _;
use wafer_nvme::auth::{
    ChallengeMessage, DH_HMAC_CHAP, Explanation, FailureMessage, GroupId, HashId, IDS, MessageHead,
    MessageKind, Negotiate, Protocol, ReplyMessage, Success1,
};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};

use crate::group::KeyPair;
use crate::response::{Challenge, Names, Prover};
use crate::{Entropy, Group, Hash, Secret};

/// Maximum transactions a host may begin without success: computing the keys for each takes milliseconds.
const MOST_ATTEMPTS: u8 = 4;

/// How a host authenticates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The secret of the host.
    pub secret: Secret,
    /// The secret of the controller, for hosts that challenge it.
    pub controller_secret: Option<Secret>,
    /// The hash function; by default, the first that the host offers.
    pub hash: Option<Hash>,
    /// The group; by default, the first that the host offers.
    pub group: Option<Group>,
}

/// The controller's end: the state of one queue.
#[derive(Debug)]
pub struct Controller {
    names: Names,
    transaction: u16,
    /// Messages sent and received.
    messages: u64,
    /// Transactions begun since the last success.
    attempts: u8,
    step: Step,
    authenticated: bool,
}

/// The next step of a transaction.
#[derive(Debug)]
enum Step {
    /// The host begins a transaction.
    Negotiate,
    /// The host receives the challenge.
    Challenge { message: Vec<u8>, open: Open },
    /// The host replies to it.
    Reply(Open),
    /// The host receives the response to its own challenge, if it sent one.
    Success1 { hash: Hash, response: Option<Vec<u8>> },
    /// The host accepts the response.
    Success2,
    /// The host receives the reason for the failure.
    Failure1(Explanation),
    /// Nothing: the transaction failed.
    Failed,
}

/// A challenge that awaits its response.
struct Open {
    challenge: Challenge,
    keys: Option<KeyPair>,
    /// Key of the host.
    host: Vec<u8>,
    /// Key of the controller.
    controller: Option<Vec<u8>>,
}

/// Keeps the keys out of logs.
impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("challenge", &self.challenge).finish_non_exhaustive()
    }
}

impl Controller {
    /// Creates the state of a queue on which nobody has authenticated.
    pub fn new(host_nqn: &str, subsystem_nqn: &str) -> Self {
        Controller {
            names: Names { host: host_nqn.to_owned(), subsystem: subsystem_nqn.to_owned() },
            transaction: 0,
            messages: 0,
            attempts: 0,
            step: Step::Negotiate,
            authenticated: false,
        }
    }

    /// Returns whether the host is authenticated. It remains so during reauthentication.
    pub fn is_authenticated(&self) -> bool {
        self.authenticated
    }

    /// Returns the number of the message that the host owes, or `None` if it owes none.
    pub fn owed(&self) -> Option<u64> {
        let idle = self.authenticated && matches!(self.step, Step::Negotiate);
        (!idle).then_some(self.messages)
    }

    /// Returns whether a transaction has failed and the host has learned why.
    pub fn has_failed(&self) -> bool {
        matches!(self.step, Step::Failed)
    }

    /// Returns why the transaction failed, until the host has received the reason.
    pub fn failure(&self) -> Option<Explanation> {
        match self.step {
            Step::Failure1(explanation) => Some(explanation),
            _ => None,
        }
    }

    /// Takes the data of Authentication Send. `credentials` are those of the host, which cannot authenticate without
    /// them.
    pub fn send(
        &mut self,
        message: &[u8],
        credentials: Option<&Credentials>,
        entropy: Entropy<'_>,
    ) {
        self.messages += 1;
        let step = std::mem::replace(&mut self.step, Step::Failed);
        self.step = self.taken(step, message, credentials, entropy).unwrap_or_else(|explanation| {
            self.authenticated = false;
            Step::Failure1(explanation)
        });
    }

    fn taken(
        &mut self,
        step: Step,
        message: &[u8],
        credentials: Option<&Credentials>,
        entropy: Entropy<'_>,
    ) -> Result<Step, Explanation> {
        let (head, _) =
            MessageHead::ref_from_prefix(message).map_err(|_| Explanation::INCORRECT_PAYLOAD)?;
        let (kind, transaction) = (MessageKind(head.kind.get()), head.transaction.get());
        if kind == MessageKind::NEGOTIATE && !matches!(step, Step::Failure1(_) | Step::Failed) {
            self.transaction = transaction;
            let credentials = credentials.ok_or(Explanation::PROTOCOL_NOT_USABLE)?;
            self.attempts += 1;
            if self.attempts > MOST_ATTEMPTS {
                return Err(Explanation::FAILED);
            }
            return self.negotiate(message, credentials, entropy);
        }
        match (step, kind) {
            (Step::Failure1(explanation), _) => Ok(Step::Failure1(explanation)),
            (Step::Failed, _) => Ok(Step::Failed),
            (_, MessageKind::FAILURE2) => {
                self.authenticated = false;
                Ok(Step::Failed)
            }
            (Step::Reply(_) | Step::Success2, _) if transaction != self.transaction => {
                Err(Explanation::INCORRECT_PAYLOAD)
            }
            (Step::Reply(open), MessageKind::REPLY) => self.reply(open, message),
            (Step::Success2, MessageKind::SUCCESS2) => {
                self.succeed();
                Ok(Step::Negotiate)
            }
            _ => Err(Explanation::INCORRECT_MESSAGE),
        }
    }

    fn negotiate(
        &self,
        message: &[u8],
        credentials: &Credentials,
        entropy: Entropy<'_>,
    ) -> Result<Step, Explanation> {
        let malformed = Explanation::INCORRECT_PAYLOAD;
        let (negotiate, rest) = Negotiate::ref_from_prefix(message).map_err(|_| malformed)?;
        if negotiate.sc_c != 0 {
            return Err(Explanation::CONCATENATION_MISMATCH);
        }
        let count = usize::from(negotiate.napd);
        let (protocols, _) =
            <[Protocol]>::ref_from_prefix_with_elems(rest, count).map_err(|_| malformed)?;
        let protocol = protocols.iter().find(|protocol| protocol.authid == DH_HMAC_CHAP);
        let protocol = protocol.ok_or(Explanation::PROTOCOL_NOT_USABLE)?;
        let (hashes, groups) = (usize::from(protocol.halen), usize::from(protocol.dhlen));
        if hashes > IDS || groups > IDS {
            return Err(malformed);
        }
        let hashes = protocol.hashes[..hashes].iter().filter_map(|id| Hash::of(HashId(*id)));
        let hash = chosen(hashes, credentials.hash).ok_or(Explanation::HASH_NOT_USABLE)?;
        let groups = protocol.groups[..groups].iter().filter_map(|id| Group::of(GroupId(*id)));
        let group = chosen(groups, credentials.group).ok_or(Explanation::GROUP_NOT_USABLE)?;

        let mut value = vec![0; hash.length()];
        entropy(&mut value);
        let mut sequence = [0; 4];
        entropy(&mut sequence);
        // A sequence number of 0 has a special meaning.
        let sequence = u32::from_le_bytes(sequence).max(1);
        let keys = group.keys(entropy);
        let public = keys.as_ref().map_or(&[][..], |keys| &keys.public);
        let head = ChallengeMessage {
            head: MessageHead::new(MessageKind::CHALLENGE, self.transaction),
            hl: hash.length() as u8,
            rsvd7: 0,
            hash: hash.id().0,
            group: group.id().0,
            dhvlen: (public.len() as u16).into(),
            sequence: sequence.into(),
        };
        let message = [head.as_bytes(), &value, public].concat();
        let challenge =
            Challenge { hash, value, sequence, transaction: self.transaction, shared: None };
        let controller =
            credentials.controller_secret.as_ref().map(|s| s.key(&self.names.subsystem));
        let host = credentials.secret.key(&self.names.host);
        Ok(Step::Challenge { message, open: Open { challenge, keys, host, controller } })
    }

    fn reply(&mut self, open: Open, message: &[u8]) -> Result<Step, Explanation> {
        let malformed = Explanation::INCORRECT_PAYLOAD;
        let Open { mut challenge, keys, host, controller } = open;
        let (reply, rest) = ReplyMessage::ref_from_prefix(message).map_err(|_| malformed)?;
        let hash = challenge.hash;
        let length = usize::from(reply.dhvlen.get());
        if usize::from(reply.hl) != hash.length() || rest.len() < 2 * hash.length() + length {
            return Err(malformed);
        }
        let (response, rest) = rest.split_at(hash.length());
        let (value, rest) = rest.split_at(hash.length());
        challenge.shared = match keys {
            Some(keys) => Some(keys.shared(&rest[..length]).ok_or(Explanation::GROUP_NOT_USABLE)?),
            None if length > 0 => return Err(malformed),
            None => None,
        };
        let expected = challenge.response(Prover::Host, &host, &self.names);
        if !bool::from(expected.ct_eq(response)) {
            return Err(Explanation::FAILED);
        }
        let sequence = reply.sequence.get();
        if reply.cvalid != 1 || sequence == 0 {
            self.succeed();
            return Ok(Step::Success1 { hash, response: None });
        }
        let key = controller.ok_or(Explanation::FAILED)?;
        let challenge = Challenge { value: value.to_vec(), sequence, ..challenge };
        let response = challenge.response(Prover::Controller, &key, &self.names);
        Ok(Step::Success1 { hash, response: Some(response) })
    }

    /// Returns the data of Authentication Receive, or `None` if the next message is longer than `most` bytes.
    pub fn receive(&mut self, most: usize) -> Option<Vec<u8>> {
        let message = self.message();
        if message.len() > most {
            return None;
        }
        self.messages += 1;
        self.step = match std::mem::replace(&mut self.step, Step::Failed) {
            Step::Challenge { open, .. } => Step::Reply(open),
            Step::Success1 { response: Some(_), .. } => Step::Success2,
            Step::Success1 { response: None, .. } => Step::Negotiate,
            // The host has received the failure, or no message is due.
            _ => {
                self.authenticated = false;
                Step::Failed
            }
        };
        Some(message)
    }

    fn succeed(&mut self) {
        self.authenticated = true;
        self.attempts = 0;
    }

    fn message(&self) -> Vec<u8> {
        let failure = |explanation| {
            let kind = MessageKind::FAILURE1;
            FailureMessage::new(kind, self.transaction, explanation).as_bytes().to_vec()
        };
        match &self.step {
            Step::Challenge { message, .. } => message.clone(),
            Step::Success1 { hash, response } => {
                let message = Success1 {
                    head: MessageHead::new(MessageKind::SUCCESS1, self.transaction),
                    hl: hash.length() as u8,
                    rsvd7: 0,
                    rvalid: response.is_some().into(),
                    rsvd9: [0; 7],
                };
                [message.as_bytes(), response.as_deref().unwrap_or_default()].concat()
            }
            Step::Failure1(explanation) => failure(*explanation),
            Step::Negotiate | Step::Reply(_) | Step::Success2 | Step::Failed => {
                failure(Explanation::INCORRECT_MESSAGE)
            }
        }
    }
}

/// Returns `wanted` if it is offered; without `wanted`, the first one offered.
fn chosen<T: PartialEq>(mut offered: impl Iterator<Item = T>, wanted: Option<T>) -> Option<T> {
    match wanted {
        Some(wanted) => offered.find(|one| *one == wanted),
        None => offered.next(),
    }
}
