//! The hash functions of DH-HMAC-CHAP.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use wafer_nvme::auth::HashId;

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl Hash {
    /// Every hash function.
    pub const ALL: [Hash; 3] = [Hash::Sha256, Hash::Sha384, Hash::Sha512];

    /// Returns the identifier used in messages.
    pub const fn id(self) -> HashId {
        match self {
            Hash::Sha256 => HashId::SHA_256,
            Hash::Sha384 => HashId::SHA_384,
            Hash::Sha512 => HashId::SHA_512,
        }
    }

    /// Returns the hash function with an identifier.
    pub fn of(id: HashId) -> Option<Self> {
        Self::ALL.into_iter().find(|hash| hash.id() == id)
    }

    /// Returns the digest length in bytes.
    pub const fn length(self) -> usize {
        match self {
            Hash::Sha256 => 32,
            Hash::Sha384 => 48,
            Hash::Sha512 => 64,
        }
    }

    pub(crate) fn digest(self, data: &[u8]) -> Vec<u8> {
        match self {
            Hash::Sha256 => Sha256::digest(data).to_vec(),
            Hash::Sha384 => Sha384::digest(data).to_vec(),
            Hash::Sha512 => Sha512::digest(data).to_vec(),
        }
    }

    /// Returns the HMAC of the concatenated parts.
    pub(crate) fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        macro_rules! hmac {
            ($hash:ty) => {{
                // Keys of any length are valid.
                let Ok(mut mac) = Hmac::<$hash>::new_from_slice(key) else { return Vec::new() };
                parts.iter().for_each(|part| mac.update(part));
                mac.finalize().into_bytes().to_vec()
            }};
        }
        match self {
            Hash::Sha256 => hmac!(Sha256),
            Hash::Sha384 => hmac!(Sha384),
            Hash::Sha512 => hmac!(Sha512),
        }
    }
}
