//! Which hosts may connect, how they authenticate, and what they may do.
//!
//! Without a key, a host proves nothing: anybody who knows its NQN can use it. Access then only keeps hosts from
//! harming each other by mistake; to keep everybody else out, use a network that only the hosts can reach.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wafer_nvme::MAX_NQN;

use crate::{Credentials, Group, Hash, Secret};

/// What a host may do in addition to reading and writing the namespaces attached to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Create, delete, attach, detach, format and write protect namespaces, sanitize, enable and disable FDP, update
    /// firmware, and lock commands and features.
    pub manage: bool,
}

/// A host that may connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedHost {
    /// What it may do.
    pub rights: Rights,
    /// How it authenticates; `None` if it does not have to.
    pub credentials: Option<Arc<Credentials>>,
}

impl From<Rights> for ListedHost {
    fn from(rights: Rights) -> Self {
        ListedHost { rights, credentials: None }
    }
}

/// Which hosts may connect, and with which rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Every host, with these rights.
    Everyone(Rights),
    /// The hosts listed by NQN; no other host may connect.
    Listed(BTreeMap<String, ListedHost>),
}

/// A host as an operator describes it. The keys are named as in Linux's nvmet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostEntry {
    /// NQN.
    pub nqn: String,
    /// [`Rights::manage`].
    #[serde(default)]
    pub manage: bool,
    /// The secret with which the host authenticates; without one, it does not have to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dhchap_key: Option<Secret>,
    /// The secret with which the controller authenticates to hosts that require it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dhchap_ctrl_key: Option<Secret>,
    /// The hash function of the authentication. Default: the first that the host offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dhchap_hash: Option<Hash>,
    /// The group of the authentication. Default: the first that the host offers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dhchap_dhgroup: Option<Group>,
}

/// What is wrong with a list of hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("host {}: {key}: {reason}", index + 1)]
pub struct WrongHost {
    /// The host, from 0.
    pub index: usize,
    /// The key that is wrong.
    pub key: &'static str,
    /// What is wrong.
    pub reason: String,
}

/// Returns what is wrong with an NVMe Qualified Name.
pub fn wrong_nqn(nqn: &str) -> Option<&'static str> {
    let holds = nqn.starts_with("nqn.") && nqn.len() <= MAX_NQN;
    if !holds {
        return Some("an NVMe Qualified Name begins with `nqn.` and has at most 223 bytes");
    }
    (nqn == wafer_nvme::DISCOVERY_NQN).then_some("is the name of every discovery subsystem")
}

impl Default for Access {
    /// Every host may do everything.
    fn default() -> Self {
        Access::Everyone(Rights { manage: true })
    }
}

impl Access {
    /// Returns the access of the hosts listed; no other host may connect.
    ///
    /// # Errors
    /// An entry is wrong, or a host is listed twice.
    pub fn listed(entries: Vec<HostEntry>) -> Result<Self, WrongHost> {
        let mut hosts = BTreeMap::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let wrong =
                |key, reason: &str| Err(WrongHost { index, key, reason: reason.to_owned() });
            let HostEntry { nqn, manage, dhchap_key, .. } = entry;
            if let Some(reason) = wrong_nqn(&nqn) {
                return wrong("nqn", reason);
            }
            if hosts.contains_key(&nqn) {
                return wrong("nqn", &format!("`{nqn}` is listed twice"));
            }
            let credentials = match dhchap_key {
                Some(secret) => Some(Arc::new(Credentials {
                    secret,
                    controller_secret: entry.dhchap_ctrl_key,
                    hash: entry.dhchap_hash,
                    group: entry.dhchap_dhgroup,
                })),
                None => {
                    let needless = [
                        ("dhchap_ctrl_key", entry.dhchap_ctrl_key.is_some()),
                        ("dhchap_hash", entry.dhchap_hash.is_some()),
                        ("dhchap_dhgroup", entry.dhchap_dhgroup.is_some()),
                    ];
                    if let Some((key, _)) = needless.into_iter().find(|(_, given)| *given) {
                        return wrong(key, "without `dhchap_key` the host does not authenticate");
                    }
                    None
                }
            };
            hosts.insert(nqn, ListedHost { rights: Rights { manage }, credentials });
        }
        Ok(Access::Listed(hosts))
    }

    /// Returns the rights of a host, or `None` if it may not connect.
    pub fn rights(&self, hostnqn: &str) -> Option<Rights> {
        match self {
            Access::Everyone(rights) => Some(*rights),
            Access::Listed(hosts) => hosts.get(hostnqn).map(|host| host.rights),
        }
    }

    /// Returns how a host authenticates, or `None` if it does not have to.
    pub fn credentials(&self, hostnqn: &str) -> Option<Arc<Credentials>> {
        match self {
            Access::Everyone(_) => None,
            Access::Listed(hosts) => hosts.get(hostnqn)?.credentials.clone(),
        }
    }
}
