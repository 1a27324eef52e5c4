//! Places objects: traces of caches and key-value stores name objects, not addresses.
//!
//! An object is placed by its first write: after all earlier objects, in whole sectors. It keeps that place while it
//! fits; an object that grows moves to the end, and its old place is deallocated.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

use wafer_interface::Op;

use crate::decode::{SECTOR, checked};
use crate::request::Request;

/// Maximum number of objects: less than 1 GB of memory.
const MOST_OBJECTS: usize = 1 << 24;

/// The objects of a trace.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    /// First byte and bytes by the hash of a name. Two names with the same hash are one object.
    places: HashMap<u64, (u64, u64)>,
    /// The byte after the last object.
    end: u64,
}

impl Objects {
    /// Returns the number of a named object.
    pub(crate) fn number(name: &[u8]) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write(name);
        hasher.finish()
    }

    /// Appends the requests of a write of `bytes`.
    ///
    /// # Errors
    /// If there are more objects or bytes than are tracked.
    pub(crate) fn write(
        &mut self,
        object: u64,
        bytes: u64,
        time_ns: u64,
        out: &mut Vec<Request>,
    ) -> Result<(), &'static str> {
        let room = bytes.max(1).checked_next_multiple_of(SECTOR).ok_or("size: too large")?;
        let known = self.places.get(&object).copied();
        let place = match known {
            Some((offset, held)) if held >= room => offset,
            None if self.places.len() >= MOST_OBJECTS => {
                return Err("more than 16777216 objects; further ones are left out");
            }
            _ => self.end,
        };
        let Some(request) = checked(Request::new(Op::Write, time_ns, place, bytes))? else {
            return Ok(());
        };
        if place == self.end {
            self.end = place.checked_add(room).ok_or("more than 2^64 bytes of objects")?;
            self.places.insert(object, (place, room));
            let moved = |(offset, held)| Request::new(Op::Deallocate, time_ns, offset, held);
            out.extend(known.map(moved));
        }
        out.push(request);
        Ok(())
    }

    /// Returns the request for a read of up to `bytes`; none if the object was never written.
    pub(crate) fn read(&self, object: u64, bytes: u64, time_ns: u64) -> Option<Request> {
        let (offset, held) = *self.places.get(&object)?;
        Some(Request::new(Op::Read, time_ns, offset, bytes.clamp(1, held)))
    }

    /// Returns the request for a deletion; none if the object was never written. It keeps its place.
    pub(crate) fn delete(&self, object: u64, time_ns: u64) -> Option<Request> {
        let (offset, held) = *self.places.get(&object)?;
        Some(Request::new(Op::Deallocate, time_ns, offset, held))
    }
}
