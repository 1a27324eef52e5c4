//! Changes to a drive other than commands of the device. The journal holds them alongside the commands.

use serde::{Deserialize, Serialize};

use super::firmware::Firmware;
use super::namespace::{Identity, Protection};
use super::operations::{Sanitized, SelfTests};
use super::persistent_log::PersistentEvent;
use super::reservation::Reservations;

/// A change as the journal stores it. `N` is a namespace, borrowed for writing.
#[derive(Serialize, Deserialize)]
pub(crate) enum Change<N> {
    /// A namespace was created.
    Create(N),
    /// A namespace was deleted, after commands that deallocated its pages.
    Delete { nsid: u32 },
    /// A namespace was formatted, after commands that deallocated its pages; its data now begins at `base`.
    Format { nsid: u32, lba_bytes: u32, base: u64 },
    /// A namespace was attached to the controllers of hosts, or detached from them.
    Attach { nsid: u32, hosts: Vec<String>, attached: bool },
    /// A namespace received another identity.
    Identify { nsid: u32, identity: Identity },
    /// FDP was enabled or disabled. The server's options determine `all_events`: whether all events are then enabled.
    Fdp { enabled: bool, all_events: bool },
    /// The enabled events changed, for each handle.
    Events { masks: Vec<u8> },
    /// A command used a placement identifier that its namespace does not define.
    RefusedPlacement { nsid: u32, pid: u16, timestamp: (u64, u8) },
    /// SMART values that no command changes and that hosts may have read.
    Life {
        error_entries: u64,
        power_on_seconds: u64,
        #[serde(default)]
        media_errors: u64,
    },
    /// The write protection of a namespace changed.
    Protect { nsid: u32, state: Protection },
    /// Bytes of a namespace were marked as uncorrectable.
    Uncorrectable { nsid: u32, offset: u64, length: u64 },
    /// Bytes of a namespace became unreadable because of a media error, or readable again.
    MediaError { nsid: u32, offset: u64, length: u64, failing: bool },
    /// Registrations or the reservation of a namespace changed.
    Reservations { nsid: u32, state: Reservations },
    /// A Sanitize operation began or ended.
    Sanitize(Sanitized),
    /// A Device Self-test began or ended.
    SelfTests(SelfTests),
    /// The firmware slots changed.
    Firmware(Firmware),
    /// An event was added to the persistent event log.
    Event(PersistentEvent),
    /// A precondition began or ended.
    Precondition { running: bool },
    /// The value of a feature was saved.
    Feature { fid: u8, value: Vec<u8> },
}
