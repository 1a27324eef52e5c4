//! Model time: integer nanoseconds, which give the same results on every platform.

/// Nanoseconds since the start of the run.
pub type Time = u64;

/// Converts microseconds from a configuration.
pub(crate) fn from_us(us: f64) -> Time {
    // The conversion saturates; the configuration was checked.
    (us * 1e3).round() as Time
}

/// A transfer rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Nanoseconds per byte, with 32 bits of fraction.
    per_byte: u64,
}

impl Rate {
    pub(crate) fn new(bytes_per_second: f64) -> Self {
        Rate { per_byte: (1e9 / bytes_per_second * 4_294_967_296.0).round() as u64 }
    }

    /// Returns the time of a transfer, rounded up.
    pub(crate) fn time(self, bytes: u64) -> Time {
        let time = u128::from(bytes) * u128::from(self.per_byte) + 0xffff_ffff;
        u64::try_from(time >> 32).unwrap_or(u64::MAX)
    }
}

/// A server that handles one arrival after another, in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    free: Time,
}

impl Server {
    /// Serves an arrival at `now` for `length`; returns when it is done.
    pub(crate) fn serve(&mut self, now: Time, length: Time) -> Time {
        self.free = self.free.max(now).saturating_add(length);
        self.free
    }
}
