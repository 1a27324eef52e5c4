//! In-band authentication of NVMe over Fabrics: DH-HMAC-CHAP (Base 2.1, 8.3.5.5).
//!
//! # What it is
//! Host and controller share a [`Secret`]. On each new queue the controller challenges the host, which proves that it
//! has the secret; the host may challenge the controller too, with a second secret. [`Controller`] and [`Host`] are the
//! two ends of that transaction. They consume and produce the data of Authentication Send and Receive, and do no I/O.
//!
//! # Architecture
//! - `secret.rs`: secrets as `nvme gen-dhchap-key` writes them.
//! - `hash.rs`, `group.rs`: the hash functions and the finite field groups that both ends choose from.
//! - `response.rs`: the proof that an end has a secret.
//! - `access.rs`: which hosts may connect, with which secrets, and what they may do.
//! - `controller.rs`, `host.rs`: the two ends. The layouts of their messages are in [`wafer_nvme::auth`].
//!
//! # Invariants
//! - A controller is [authenticated](Controller::is_authenticated) only by a response to its own challenge, and each
//!   challenge is used once.
//! - For any input, the outcome is a message or an [`Explanation`](wafer_nvme::auth::Explanation), never a panic.
//! - Random bytes come from the caller, so that tests and simulations repeat.
//!
//! # Error model
//! A failed transaction is not an error here: the other end receives the reason, and the transaction ends.
//!
//! # What it does not implement
//! Secure channel concatenation, which derives TLS keys, and verification by an authentication server.

mod access;
mod controller;
mod group;
mod hash;
mod host;
mod response;
mod secret;

pub use access::{Access, HostEntry, ListedHost, Rights, WrongHost, wrong_nqn};
pub use controller::{Controller, Credentials};
pub use group::Group;
pub use hash::Hash;
pub use host::Host;
pub use secret::{Secret, SecretError};

/// Fills a buffer with random bytes that nobody can guess.
pub type Entropy<'a> = &'a mut dyn FnMut(&mut [u8]);
