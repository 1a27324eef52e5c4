//! The clock of the machine, for progress and for the record's `performance` and `started`. No result depends on it.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use std::time::{Instant, SystemTime};

#[cfg(target_arch = "wasm32")]
pub(crate) use browser::{Instant, SystemTime};

/// The standard library has no clock in a browser; the page that loads the module provides one.
#[cfg(target_arch = "wasm32")]
mod browser {
    use std::time::Duration;

    #[link(wasm_import_module = "wafer")]
    unsafe extern "C" {
        /// Returns milliseconds since 1970.
        safe fn now() -> f64;
    }

    fn since_1970() -> Duration {
        Duration::try_from_secs_f64(now() / 1e3).unwrap_or_default()
    }

    /// A moment, like [`std::time::Instant`].
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Instant(Duration);

    impl Instant {
        pub(crate) fn now() -> Self {
            Instant(since_1970())
        }

        pub(crate) fn elapsed(self) -> Duration {
            since_1970().saturating_sub(self.0)
        }
    }

    /// The time of day.
    pub(crate) struct SystemTime;

    impl SystemTime {
        pub(crate) fn now() -> std::time::SystemTime {
            std::time::UNIX_EPOCH + since_1970()
        }
    }
}
