//! Secrets in their textual form (Base 2.1, 8.3.5.5.7): `DHHC-1:HH:KEY:`, where HH is the hash function that
//! transforms the key, and KEY is the key and its CRC-32 in Base64.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crc_fast::{CrcAlgorithm, checksum};
use serde::{Deserialize, Serialize};
use wafer_nvme::auth::HashId;

use crate::Hash;

/// A secret of a host or a controller.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Secret {
    key: Vec<u8>,
    /// The hash function that derives the key of an end from `key`; without one, `key` is used as it is.
    transform: Option<Hash>,
}

/// Why a text is not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Does not have the form of a secret.
    #[error("expected `DHHC-1:HH:KEY:`, as `nvme gen-dhchap-key` writes it")]
    Form,
    /// Unknown hash function.
    #[error("expected 00, 01, 02 or 03 after `DHHC-1:`: no hash, SHA-256, SHA-384 or SHA-512")]
    Hash,
    /// The key is not Base64 or has the wrong length.
    #[error("expected a key of 32, 48 or 64 bytes and its checksum, in Base64")]
    Key,
    /// The checksum does not match, probably because of a typing error.
    #[error("the checksum of the key differs")]
    Checksum,
}

impl Secret {
    /// Returns the key that proves the identity of an end with this NQN.
    pub(crate) fn key(&self, nqn: &str) -> Vec<u8> {
        match self.transform {
            Some(hash) => hash.hmac(&self.key, &[nqn.as_bytes(), b"NVMe-over-Fabrics"]),
            None => self.key.clone(),
        }
    }
}

impl FromStr for Secret {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Self, SecretError> {
        let parts: Vec<&str> = text.split(':').collect();
        let ["DHHC-1", hash, key, ""] = parts[..] else { return Err(SecretError::Form) };
        let transform = match hash {
            "00" => None,
            "01" | "02" | "03" => hash.parse().ok().and_then(|id| Hash::of(HashId(id))),
            _ => return Err(SecretError::Hash),
        };
        let mut key = STANDARD.decode(key).map_err(|_| SecretError::Key)?;
        let length = key.len().checked_sub(4).filter(|length| [32, 48, 64].contains(length));
        let crc = key.split_off(length.ok_or(SecretError::Key)?);
        if crc != crc32(&key).to_le_bytes() {
            return Err(SecretError::Checksum);
        }
        Ok(Secret { key, transform })
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let crc = crc32(&self.key).to_le_bytes();
        let hash = self.transform.map_or(0, |hash| hash.id().0);
        write!(f, "DHHC-1:{hash:02}:{}:", STANDARD.encode([&self.key[..], &crc].concat()))
    }
}

/// Keeps the key out of logs.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes, {:?})", self.key.len(), self.transform)
    }
}

impl TryFrom<String> for Secret {
    type Error = SecretError;

    fn try_from(text: String) -> Result<Self, SecretError> {
        text.parse()
    }
}

impl From<Secret> for String {
    fn from(secret: Secret) -> String {
        secret.to_string()
    }
}

fn crc32(data: &[u8]) -> u32 {
    // The algorithm has 32 bits.
    checksum(CrcAlgorithm::Crc32IsoHdlc, data) as u32
}
