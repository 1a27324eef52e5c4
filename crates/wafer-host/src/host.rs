//! A host: an admin queue and the I/O queues of its controller.

use std::net::SocketAddr;

use wafer_nvme::zerocopy::FromBytes;
use wafer_nvme::*;

use crate::admin::Admin;
use crate::authenticate::authenticate;
use crate::options::{Credentials, HostOptions};
use crate::protocol::{Completion, HostError, QueueOptions};
use crate::queue::Queue;

/// A host connected to a controller.
pub struct Host {
    /// The admin queue.
    pub admin: Queue,
    /// Controller ID.
    pub cntlid: u16,
    address: SocketAddr,
    options: HostOptions,
}

impl Host {
    /// Connects and enables a controller.
    ///
    /// # Errors
    /// The controller cannot be reached, or rejects the host.
    pub fn connect(address: SocketAddr, options: HostOptions) -> Result<Self, HostError> {
        let queue = QueueOptions { entries: 32, ..options.queue };
        let mut admin = Queue::initialize(address, queue)?;
        let done = connect(&mut admin, &options, 0, 0xffff, queue.entries)?;
        let cntlid = done.dw as u16;
        let mut host = Host { admin, cntlid, address, options };
        host.enable()?;
        Ok(host)
    }

    fn enable(&mut self) -> Result<(), HostError> {
        let cc = Cc::new().with_en(true).with_iosqes(6).with_iocqes(4);
        self.property_set(Property::CC, u64::from(cc.into_bits()))
    }

    /// Resets the controller and enables it again. Outstanding admin commands get no completion.
    ///
    /// # Errors
    /// The connection broke.
    pub fn reset(&mut self) -> Result<(), HostError> {
        self.property_set(Property::CC, 0)?;
        self.admin.abandon();
        self.enable()
    }

    /// Returns the address of the controller.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connects an I/O queue.
    ///
    /// # Errors
    /// The controller rejects the queue.
    pub fn io_queue(&self, qid: u16) -> Result<Queue, HostError> {
        let mut queue = Queue::initialize(self.address, self.options.queue)?;
        connect(&mut queue, &self.options, qid, self.cntlid, self.options.queue.entries)?;
        Ok(queue)
    }

    /// Authenticates again on the admin queue, and uses these credentials from now on.
    ///
    /// # Errors
    /// The transaction failed, or the connection broke.
    pub fn authenticate(&mut self, credentials: Credentials) -> Result<(), HostError> {
        self.options.credentials = Some(credentials);
        authenticate(&mut self.admin, &self.options)
    }

    /// Executes an admin command, which must succeed.
    ///
    /// # Errors
    /// The command fails, or the connection broke.
    pub fn admin(
        &mut self,
        command: &'static str,
        sqe: Sqe,
        send: &[u8],
        receive: usize,
    ) -> Result<Completion, HostError> {
        let done = self.admin.execute(sqe, send, receive)?;
        if done.status.is_success() {
            Ok(done)
        } else {
            Err(HostError::Status { command, status: done.status })
        }
    }

    /// Sends Property Set.
    ///
    /// # Errors
    /// The command fails.
    pub fn property_set(&mut self, property: Property, value: u64) -> Result<(), HostError> {
        let sqe = Admin::property_set(property, value);
        self.admin("property set", sqe, &[], 0).map(|_| ())
    }

    /// Sends Property Get.
    ///
    /// # Errors
    /// The command fails.
    pub fn property_get(&mut self, property: Property) -> Result<u64, HostError> {
        let sqe = Admin::property_get(property);
        self.admin("property get", sqe, &[], 0).map(|done| done.dw)
    }

    /// Reads an Identify structure of 4,096 bytes.
    ///
    /// # Errors
    /// The command fails.
    pub fn identify<T: FromBytes>(&mut self, cns: Cns, nsid: u32) -> Result<T, HostError> {
        let done = self.admin("identify", Admin::identify(cns, nsid), &[], 4096)?;
        T::read_from_bytes(&done.data)
            .map_err(|_| HostError::Protocol("a truncated structure".to_owned()))
    }

    /// Reads `bytes` bytes of a log page. `lsp` and `lsi` are parameters defined by the page.
    ///
    /// # Errors
    /// The command fails.
    pub fn log(&mut self, lid: Lid, lsp: u8, lsi: u16, bytes: u32) -> Result<Vec<u8>, HostError> {
        let sqe = Admin::log(lid, lsp, lsi, bytes);
        self.admin("get log page", sqe, &[], bytes as usize).map(|done| done.data)
    }

    /// Reads the FDP statistics: HBMW, MBMW, MBE.
    ///
    /// # Errors
    /// FDP is disabled, or the connection broke.
    pub fn statistics(&mut self) -> Result<FdpStatistics, HostError> {
        let page = self.log(Lid::FDP_STATISTICS, 0, 1, 64)?;
        FdpStatistics::read_from_bytes(&page)
            .map_err(|_| HostError::Protocol("a truncated structure".to_owned()))
    }
}

fn connect(
    queue: &mut Queue,
    options: &HostOptions,
    qid: u16,
    cntlid: u16,
    entries: u16,
) -> Result<Completion, HostError> {
    let (sqe, data) = Admin::connect(options, qid, cntlid, entries);
    let done = queue.execute(sqe, &data, 0)?;
    if !done.status.is_success() {
        return Err(HostError::Status { command: "connect", status: done.status });
    }
    if done.dw as u32 & auth::REQUIRED != 0 {
        authenticate(queue, options)?;
    }
    Ok(done)
}
