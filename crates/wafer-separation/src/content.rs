//! The content that a written page replaces.

/// Properties of replaced content. Each may be a cache miss, so a rule reads only what it needs.
pub trait Content: Copy {
    /// Returns the handle that wrote the content.
    fn writer(self) -> u32;

    /// Returns the host pages written to the device since the content was written.
    fn lived(self) -> u64;

    /// Returns the class of the reclaim unit that holds the content, whether written by the host or relocated.
    fn class(self) -> u8;

    /// Returns the predicted death time of the content; 0: unknown.
    fn death_time(self) -> u64;
}

/// The type of content where there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unknown {}

impl Content for Unknown {
    fn writer(self) -> u32 {
        match self {}
    }

    fn lived(self) -> u64 {
        match self {}
    }

    fn class(self) -> u8 {
        match self {}
    }

    fn death_time(self) -> u64 {
        match self {}
    }
}
