//! Requests sent as several commands because they cross the border of a placed range.

use std::collections::HashMap;

use wafer_interface::stream::{first_ticket, job_of};

/// Set in the tickets of their commands. No job issues this many requests.
const SPLIT: u64 = first_ticket(1) >> 1;

/// The requests with commands in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Splits {
    count: u64,
    /// The original ticket of each request, and its number of commands in flight.
    in_flight: HashMap<u64, (u64, usize)>,
}

impl Splits {
    /// Returns a ticket shared by all `commands` of a request.
    pub(super) fn begin(&mut self, ticket: u64, commands: usize) -> u64 {
        let shared = first_ticket(job_of(ticket)) | SPLIT | (self.count % SPLIT);
        self.count += 1;
        self.in_flight.insert(shared, (ticket, commands));
        shared
    }

    /// Returns the ticket of the request that a command completes, if it is its last command.
    pub(super) fn complete(&mut self, ticket: u64) -> Option<u64> {
        let Some((own, left)) = self.in_flight.get_mut(&ticket) else { return Some(ticket) };
        *left -= 1;
        if *left > 0 {
            return None;
        }
        let own = *own;
        self.in_flight.remove(&ticket);
        Some(own)
    }
}
