//! Identity and parameters of a host.

use wafer_auth::{Group, Hash, Secret};

use crate::protocol::QueueOptions;

/// Identity and parameters of a host.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// NQN of the subsystem.
    pub subnqn: String,
    /// NQN of the host.
    pub hostnqn: String,
    /// Host identifier.
    pub hostid: [u8; 16],
    /// Keep alive timeout, milliseconds; 0 means none.
    pub kato: u32,
    /// How it authenticates, if the controller requires that.
    pub credentials: Option<Credentials>,
    /// Parameters of all queues.
    pub queue: QueueOptions,
}

impl HostOptions {
    /// Returns the options of the host `name` for a subsystem.
    pub fn new(subnqn: &str, name: &str) -> Self {
        let mut hostid = [0; 16];
        for (slot, byte) in hostid.iter_mut().zip(name.bytes()) {
            *slot = byte;
        }
        HostOptions {
            subnqn: subnqn.to_owned(),
            hostnqn: format!("nqn.2026-11.io.wafer:{name}"),
            hostid,
            kato: 0,
            credentials: None,
            queue: QueueOptions::default(),
        }
    }
}

/// How a host authenticates.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The secret of the host.
    pub secret: Secret,
    /// The secret with which the controller has to authenticate.
    pub controller_secret: Option<Secret>,
    /// Hash functions to offer, in order of preference.
    pub hashes: Vec<Hash>,
    /// Groups to offer, in order of preference.
    pub groups: Vec<Group>,
}

impl Credentials {
    /// Returns credentials that offer all hash functions and groups.
    pub fn new(secret: Secret, controller_secret: Option<Secret>) -> Self {
        let (hashes, groups) = (Hash::ALL.to_vec(), Group::ALL.to_vec());
        Credentials { secret, controller_secret, hashes, groups }
    }
}
