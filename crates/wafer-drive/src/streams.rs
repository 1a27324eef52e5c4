//! Streams of a drive without FDP (Base 2.1, 8.1.8.3): the hosts that enabled the directive for each namespace, the
//! open streams, and the reclaim unit handle of each.
//!
//! A stream resource is a handle of the device other than handle 0, which takes writes without a stream. The first
//! write to a stream opens it with the lowest free handle, and continues in the reclaim unit that this handle has open.
//! Stream identifiers belong to a host and a namespace (SSID 0), and hosts need an identifier (SRNZID 1). A power cycle
//! ends all streams, so none of this is saved.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use wafer_interface::Placement;
use wafer_nvme::Status;

use super::reservation::HostId;
use super::{Drive, Namespace};

/// A host and the NSID of a namespace.
type Member = (HostId, u32);

/// Counts of the Return Parameters operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Maximum number of open streams: MSL.
    pub limit: u16,
    /// Unallocated resources: NSSA.
    pub available: u16,
    /// Open streams that use unallocated resources: NSSO.
    pub open: u16,
    /// Resources allocated to the host for the namespace: NSA.
    pub allocated: u16,
    /// Open streams of the host in the namespace: NSO.
    pub own: u16,
}

/// An open stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    member: Member,
    identifier: u16,
    handle: u16,
}

/// The streams of a drive.
#[derive(Debug, Default)]
pub(crate) struct Streams(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    /// The members that enabled the directive, and the number of resources allocated to each.
    enabled: BTreeMap<Member, u16>,
    /// Open streams, in the order of opening.
    open: VecDeque<Stream>,
}

impl Table {
    fn allocated(&self, member: &Member) -> u16 {
        self.enabled.get(member).copied().unwrap_or(0)
    }

    fn available(&self, limit: u16) -> u16 {
        limit.saturating_sub(self.enabled.values().sum())
    }

    /// Returns whether a stream uses an unallocated resource.
    fn is_shared(&self, stream: &Stream) -> bool {
        self.allocated(&stream.member) == 0
    }

    fn own(&self, member: &Member) -> u16 {
        self.open.iter().filter(|stream| stream.member == *member).count() as u16
    }

    fn shared(&self) -> u16 {
        self.open.iter().filter(|stream| self.is_shared(stream)).count() as u16
    }

    /// Releases the oldest streams that compete with the member's for the same resources, until at most `most` of them
    /// are open.
    fn trim(&mut self, member: &Member, most: u16) {
        let exclusive = self.allocated(member) > 0;
        let mut open = if exclusive { self.own(member) } else { self.shared() };
        while open > most {
            let competes = |stream: &Stream| match exclusive {
                true => stream.member == *member,
                false => self.is_shared(stream),
            };
            let Some(first) = self.open.iter().position(competes) else { return };
            self.open.remove(first);
            open -= 1;
        }
    }

    /// Returns the handle of a stream, opening it if necessary; `None` if there are no resources for it.
    fn handle(&mut self, member: Member, identifier: u16, limit: u16) -> Option<u16> {
        let known = |s: &&Stream| s.member == member && s.identifier == identifier;
        if let Some(stream) = self.open.iter().find(known) {
            return Some(stream.handle);
        }
        let most = match self.allocated(&member) {
            0 => self.available(limit),
            allocated => allocated,
        };
        self.trim(&member, most.checked_sub(1)?);
        let is_free = |handle: &u16| self.open.iter().all(|stream| stream.handle != *handle);
        let handle = (1..=limit).find(is_free)?;
        self.open.push_back(Stream { member, identifier, handle });
        Some(handle)
    }

    fn release(&mut self, mut which: impl FnMut(&Member) -> bool) {
        self.open.retain(|stream| !which(&stream.member));
    }
}

impl Streams {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drive {
    /// Returns the maximum number of open streams: 0 while FDP, which excludes streams, is enabled.
    pub fn stream_limit(&self) -> u16 {
        let inner = self.lock();
        if inner.config.fdp { 0 } else { inner.config.streams }
    }

    /// Returns whether the drive supports streams while FDP is disabled.
    pub fn supports_streams(&self) -> bool {
        self.options.device.streams > 0
    }

    /// Enables or disables the Streams directive for a host in a namespace, or in all. Disabling releases everything.
    ///
    /// # Errors
    /// `HOST_ID_NOT_INITIALIZED` for a host without an identifier.
    pub fn enable_streams(
        &self,
        host: HostId,
        nsid: Option<u32>,
        enable: bool,
    ) -> Result<(), Status> {
        if enable && host == HostId::default() {
            return Err(Status::HOST_ID_NOT_INITIALIZED);
        }
        let concerned = |member: &Member| member.0 == host && nsid.is_none_or(|n| n == member.1);
        let all = self.namespaces();
        let mut table = self.streams.table();
        if enable {
            for namespace in all.iter().flatten().filter(|n| concerned(&(host, n.nsid))) {
                table.enabled.entry((host, namespace.nsid)).or_default();
            }
        } else {
            table.enabled.retain(|member, _| !concerned(member));
            table.release(concerned);
        }
        Ok(())
    }

    /// Returns whether a host enabled the Streams directive in a namespace, or in any.
    pub fn streams_enabled(&self, host: HostId, nsid: Option<u32>) -> bool {
        let table = self.streams.table();
        match nsid {
            Some(nsid) => table.enabled.contains_key(&(host, nsid)),
            None => table.enabled.keys().any(|member| member.0 == host),
        }
    }

    /// Releases all stream identifiers of a namespace, as formatting does.
    pub(crate) fn release_streams(&self, nsid: u32) {
        self.streams.table().release(|member| member.1 == nsid);
    }

    /// Releases all stream identifiers and resources of a namespace, as write protection does.
    pub(crate) fn release_stream_resources(&self, nsid: u32) {
        let mut table = self.streams.table();
        table.enabled.iter_mut().filter(|(m, _)| m.1 == nsid).for_each(|(_, count)| *count = 0);
        table.release(|member| member.1 == nsid);
    }

    /// Disables the Streams directive in a deleted namespace.
    pub(crate) fn forget_streams(&self, nsid: u32) {
        let mut table = self.streams.table();
        table.enabled.retain(|member, _| member.1 != nsid);
        table.release(|member| member.1 == nsid);
    }

    /// Returns the placement of a host's write to a stream, opening it if necessary. Without resources, the write has
    /// no stream.
    pub fn stream(&self, host: HostId, namespace: &Namespace, identifier: u16) -> Placement {
        // Each namespace has the device's handles, in order.
        let limit = (namespace.handles.len() - 1) as u16;
        let handle = self.streams.table().handle((host, namespace.nsid), identifier, limit);
        handle.map_or(Placement::NONE, Placement)
    }

    /// Returns the counts of the drive and of a host in a namespace.
    pub fn stream_counts(&self, host: HostId, nsid: Option<u32>) -> StreamCounts {
        let limit = self.stream_limit();
        let table = self.streams.table();
        let member = nsid.map(|nsid| (host, nsid));
        StreamCounts {
            limit,
            available: table.available(limit),
            open: table.shared(),
            allocated: member.map_or(0, |member| table.allocated(&member)),
            own: member.map_or(0, |member| table.own(&member)),
        }
    }

    /// Returns the identifiers, ascending, of a host's open streams in a namespace, or of all streams that use
    /// unallocated resources.
    pub fn open_streams(&self, host: HostId, nsid: Option<u32>) -> Vec<u16> {
        let table = self.streams.table();
        let asked = |stream: &&Stream| match nsid {
            Some(nsid) => stream.member == (host, nsid),
            None => table.is_shared(stream),
        };
        let mut identifiers: Vec<u16> =
            table.open.iter().filter(asked).map(|stream| stream.identifier).collect();
        identifiers.sort_unstable();
        identifiers.dedup();
        identifiers
    }

    /// Allocates up to `count` resources to a host for a namespace, and returns how many.
    ///
    /// # Errors
    /// `INVALID_FIELD` if the directive is not enabled, if the host has resources already, or if `count` is 0;
    /// `STREAM_RESOURCE_ALLOCATION_FAILED` if none are available.
    pub fn allocate_streams(&self, host: HostId, nsid: u32, count: u16) -> Result<u16, Status> {
        let limit = self.stream_limit();
        let mut table = self.streams.table();
        let member = (host, nsid);
        if count == 0 || table.enabled.get(&member) != Some(&0) {
            return Err(Status::INVALID_FIELD);
        }
        let available = table.available(limit);
        let count = count.min(available);
        if count == 0 {
            return Err(Status::STREAM_RESOURCE_ALLOCATION_FAILED);
        }
        table.enabled.insert(member, count);
        // The member's open streams now use the allocated resources, which leaves fewer for others.
        table.trim(&member, count);
        let nobody = (HostId::default(), 0);
        table.trim(&nobody, available - count);
        Ok(count)
    }

    /// Releases the identifier of a stream, if it is open.
    pub fn release_stream(&self, host: HostId, nsid: u32, identifier: u16) {
        let released = |s: &Stream| s.member == (host, nsid) && s.identifier == identifier;
        self.streams.table().open.retain(|stream| !released(stream));
    }

    /// Releases the resources allocated to a host for a namespace, with the streams that use them.
    pub fn release_allocated_streams(&self, host: HostId, nsid: u32) {
        let mut table = self.streams.table();
        let member = (host, nsid);
        if table.allocated(&member) > 0 {
            table.release(|other| *other == member);
            table.enabled.insert(member, 0);
        }
    }
}
