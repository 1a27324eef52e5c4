//! The finite field groups of DH-HMAC-CHAP: those of RFC 7919, whose generator is 2.

use std::sync::OnceLock;

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Limb, NonZero, Odd, Resize as _};
use serde::{Deserialize, Serialize};
use wafer_nvme::auth::GroupId;

use crate::Entropy;

/// A group, or none at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// No Diffie-Hellman exchange.
    Null,
    /// ffdhe2048.
    Ffdhe2048,
    /// ffdhe3072.
    Ffdhe3072,
    /// ffdhe4096.
    Ffdhe4096,
    /// ffdhe6144.
    Ffdhe6144,
    /// ffdhe8192.
    Ffdhe8192,
}

/// The definition of a group (RFC 7919, appendix A) and the length of its private keys (section 5.2).
struct Definition {
    bits: u32,
    /// The offset that makes the prime safe.
    offset: u32,
    private_bits: u32,
    modulus: OnceLock<BoxedMontyParams>,
}

impl Definition {
    const fn new(bits: u32, offset: u32, private_bits: u32) -> Self {
        Definition { bits, offset, private_bits, modulus: OnceLock::new() }
    }

    fn modulus(&self) -> &BoxedMontyParams {
        self.modulus.get_or_init(|| {
            let prime = Odd::new(prime(self.bits, self.offset));
            BoxedMontyParams::new(prime.expect("every prime of RFC 7919 is odd"))
        })
    }
}

static DEFINITIONS: [Definition; 5] = [
    Definition::new(2048, 560_316, 225),
    Definition::new(3072, 2_625_351, 275),
    Definition::new(4096, 5_736_041, 325),
    Definition::new(6144, 15_705_020, 375),
    Definition::new(8192, 10_965_728, 400),
];

/// Returns `2^bits - 2^(bits - 64) + (floor(2^(bits - 130) * e) + offset) * 2^64 - 1`.
fn prime(bits: u32, offset: u32) -> BoxedUint {
    // Truncating a term of e = 1/0! + 1/1! + 1/2! + ... loses less than 1 in the last of these bits.
    const GUARD: u32 = 64;
    let zero = || BoxedUint::zero_with_precision(bits + 64);
    let one = || BoxedUint::one_with_precision(bits + 64);
    let (mut e, mut term) = (zero(), one() << (bits - 130 + GUARD));
    let mut number = 0_u32;
    while term != zero() {
        e += &term;
        number += 1;
        let divisor = NonZero::new(Limb::from(number)).expect("it counts from 1");
        term = term.div_rem_limb(divisor).0;
    }
    let middle = ((e >> GUARD) + BoxedUint::from(offset)) << 64;
    let whole: BoxedUint = (one() << bits) - (one() << (bits - 64)) + middle - one();
    whole.resize_unchecked(bits)
}

/// The key pair of one end.
pub(crate) struct KeyPair {
    definition: &'static Definition,
    private: BoxedUint,
    pub(crate) public: Vec<u8>,
}

impl Group {
    /// Every group, the null group first.
    pub const ALL: [Group; 6] = [
        Group::Null,
        Group::Ffdhe2048,
        Group::Ffdhe3072,
        Group::Ffdhe4096,
        Group::Ffdhe6144,
        Group::Ffdhe8192,
    ];

    /// Returns the identifier used in messages.
    pub const fn id(self) -> GroupId {
        match self {
            Group::Null => GroupId::NULL,
            Group::Ffdhe2048 => GroupId::FFDHE_2048,
            Group::Ffdhe3072 => GroupId::FFDHE_3072,
            Group::Ffdhe4096 => GroupId::FFDHE_4096,
            Group::Ffdhe6144 => GroupId::FFDHE_6144,
            Group::Ffdhe8192 => GroupId::FFDHE_8192,
        }
    }

    /// Returns the group with an identifier.
    pub fn of(id: GroupId) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.id() == id)
    }

    fn definition(self) -> Option<&'static Definition> {
        let bits = match self {
            Group::Null => return None,
            Group::Ffdhe2048 => 2048,
            Group::Ffdhe3072 => 3072,
            Group::Ffdhe4096 => 4096,
            Group::Ffdhe6144 => 6144,
            Group::Ffdhe8192 => 8192,
        };
        DEFINITIONS.iter().find(|definition| definition.bits == bits)
    }

    /// Returns the length of DH values in bytes.
    pub fn length(self) -> usize {
        self.definition().map_or(0, |definition| definition.bits as usize / 8)
    }

    /// Returns a new key pair, or `None` for the null group.
    pub(crate) fn keys(self, entropy: Entropy<'_>) -> Option<KeyPair> {
        let definition = self.definition()?;
        let mut bytes = vec![0; definition.private_bits.div_ceil(8) as usize];
        entropy(&mut bytes);
        let precision = 8 * bytes.len() as u32;
        let private = BoxedUint::from_be_slice(&bytes, precision).ok()?;
        let two = BoxedUint::from(2_u32).resize_unchecked(definition.bits);
        let public = power(definition, two, &private);
        Some(KeyPair { definition, private, public })
    }
}

impl KeyPair {
    /// Returns the secret that both ends share, given the DH value of the other end; `None` if no key has that value
    /// (RFC 7919, 5.1).
    pub(crate) fn shared(&self, other: &[u8]) -> Option<Vec<u8>> {
        let bits = self.definition.bits;
        let value = BoxedUint::from_be_slice(other, bits).ok()?;
        let one = BoxedUint::one_with_precision(bits);
        let last = self.definition.modulus().modulus().as_ref() - &one;
        let valid = other.len() == bits as usize / 8 && value > one && value < last;
        valid.then(|| power(self.definition, value, &self.private))
    }
}

fn power(definition: &Definition, base: BoxedUint, exponent: &BoxedUint) -> Vec<u8> {
    let base = BoxedMontyForm::new(base, definition.modulus());
    base.pow(exponent).retrieve().to_be_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// SHA-256 of the primes in OpenSSL 3.0: `openssl genpkey -genparam -algorithm DH -pkeyopt group:ffdhe2048 |
    /// openssl asn1parse`.
    #[test]
    fn primes_are_those_of_the_rfc() {
        let known = [
            "9cd3b7f336872f46c09428d1bbc19877a4d440512cda8d1c1cf0cd6e33698966",
            "0eaf67db3a839156d5013494a5318a772b5697d270d721f37f092efc69ea5a17",
            "4648414224ac881b3d0dc59b466f96d06a558278776807797ecf1f66ff397b3e",
            "227ac9066b3ddd9e193670cda2388fa884f65ba0cf98b742d1fe77a6687c79c7",
            "770b14efaf6f049929c523113b3fa99a8d11dab1b18af3609590122075d19833",
        ];
        for (definition, known) in DEFINITIONS.iter().zip(known) {
            let prime = definition.modulus().modulus().as_ref().to_be_bytes();
            assert_eq!(prime.len(), definition.bits as usize / 8);
            let digest: String =
                Sha256::digest(&prime).iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(digest, known, "{} bits", definition.bits);
        }
    }

    #[test]
    fn both_ends_share_a_secret_and_impossible_values_are_refused() {
        let mut next = 1_u8;
        let mut entropy = |bytes: &mut [u8]| {
            for byte in bytes {
                next = next.wrapping_mul(5).wrapping_add(17);
                *byte = next;
            }
        };
        for group in Group::ALL {
            assert_eq!(Group::of(group.id()), Some(group));
            let Some(one) = group.keys(&mut entropy) else {
                assert_eq!(group, Group::Null);
                continue;
            };
            let two = group.keys(&mut entropy).unwrap();
            assert_ne!(one.public, two.public);
            assert_eq!(one.public.len(), group.length());
            let shared = one.shared(&two.public).unwrap();
            assert_eq!(Some(&shared), two.shared(&one.public).as_ref());
            assert_eq!(shared.len(), group.length());
            let number = |last: u8| {
                let mut bytes = vec![0; group.length()];
                bytes[group.length() - 1] = last;
                bytes
            };
            let modulus = one.definition.modulus().modulus().as_ref().clone();
            let below = (modulus.clone() - BoxedUint::one_with_precision(one.definition.bits))
                .to_be_bytes();
            for wrong in [number(0), number(1), below.to_vec(), modulus.to_be_bytes().to_vec()] {
                assert_eq!(one.shared(&wrong), None);
            }
            assert_eq!(one.shared(&two.public[1..]), None);
            assert!(one.shared(&number(2)).is_some());
        }
    }
}
