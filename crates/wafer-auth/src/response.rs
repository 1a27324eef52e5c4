//! The proof that an end has a secret: the HMAC of a challenge (Base 2.1, 8.3.5.5.4 and 8.3.5.5.5).

use crate::Hash;

/// The end that proves its identity to the other.
#[derive(Clone, Copy)]
pub(crate) enum Prover {
    Host,
    Controller,
}

/// The names of both ends.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) host: String,
    pub(crate) subsystem: String,
}

/// The inputs of a response apart from the secret.
#[derive(Clone, Debug)]
pub(crate) struct Challenge {
    pub(crate) hash: Hash,
    pub(crate) value: Vec<u8>,
    pub(crate) sequence: u32,
    pub(crate) transaction: u16,
    /// The shared secret of the Diffie-Hellman exchange, if there is one.
    pub(crate) shared: Option<Vec<u8>>,
}

impl Challenge {
    /// Returns the response of an end with this key.
    pub(crate) fn response(&self, prover: Prover, key: &[u8], names: &Names) -> Vec<u8> {
        let (host, subsystem) = (names.host.as_bytes(), names.subsystem.as_bytes());
        let (role, first, second): (&[u8], _, _) = match prover {
            Prover::Host => (b"HostHost", host, subsystem),
            Prover::Controller => (b"Controller", subsystem, host),
        };
        let value = match &self.shared {
            // The augmented challenge: knowing only the secret of an earlier transaction is not enough to respond.
            Some(shared) => self.hash.hmac(&self.hash.digest(shared), &[&self.value]),
            None => self.value.clone(),
        };
        let sequence = self.sequence.to_le_bytes();
        let transaction = self.transaction.to_le_bytes();
        // No secure channel concatenation.
        let concatenation = [0];
        let parts: [&[u8]; 8] =
            [&value, &sequence, &transaction, &concatenation, role, first, &[0], second];
        self.hash.hmac(key, &parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    /// The expected responses come from Python's `hmac` and `hashlib` and the formulas of the specification.
    #[test]
    fn responses_are_those_of_the_specification() {
        let names = Names {
            host: "nqn.2014-08.org.nvmexpress:uuid:9f1a6c8e-0d3b-4a6e-8a56-2f7c1d0b7e11".to_owned(),
            subsystem: "nqn.2026-11.io.wafer:test".to_owned(),
        };
        let shared = |length| Some(vec![7; length]);
        for (secret, hash, prover, shared, expected) in [
            (
                "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:",
                Hash::Sha256,
                Prover::Host,
                None,
                "14c47a914cf643ea60668e6dd4295ddadf6d177d1adcdc35ae205674858803dc",
            ),
            (
                "DHHC-1:02:ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1+f4CBgoOEhYaHiImKi4yNjo+QkZKTvGwQfg==:",
                Hash::Sha384,
                Prover::Host,
                shared(256),
                "3ca3177ab7ca0a513ebc9c36382a7e1c679fbb4f65c1f5284ec3779eea9a482da68887f7ced197d149b4a3ac903555b7",
            ),
            (
                "DHHC-1:03:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P4zODhA=:",
                Hash::Sha512,
                Prover::Controller,
                shared(1024),
                "ed995751c26a090a2d1b5d522256d72bc87123002e3ed5814e1aa551a515bc40e93a485b0e322178183aac7d79088368fdaa2bfd4cc7a2523aeb15c4d6534703",
            ),
            (
                "DHHC-1:01:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:",
                Hash::Sha256,
                Prover::Controller,
                None,
                "4d15e4fb3fbd715d923f077a05dc9241d7a52be014946e5396e605e14f4dde8e",
            ),
        ] {
            let value = (1..=hash.length() as u8).collect();
            let (sequence, transaction) = (0x0102_0304, 0x0506);
            let challenge = Challenge { hash, value, sequence, transaction, shared };
            let nqn = match prover {
                Prover::Host => &names.host,
                Prover::Controller => &names.subsystem,
            };
            let key = secret.parse::<Secret>().unwrap().key(nqn);
            let response = challenge.response(prover, &key, &names);
            let response: String = response.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(response, expected);
        }
    }
}
