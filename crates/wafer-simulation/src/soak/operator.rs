//! The operator: manages namespaces, reads counters, and breaks things every few seconds.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use wafer_host::{Host, HostError, QueueOptions};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_simulation::model::{Found, SECTOR};
use wafer_simulation::plan::Dice;
use wafer_simulation::work::{Creation, delete, read_counters, reported};

use crate::events::{EVENTS, Event};
use crate::faults::{Disk, Rates, limit_descriptors};
use crate::host::{judge, options, verify};
use crate::report::{Life, Report};
use crate::server::{Launcher, Server, descriptors, resident};
use crate::world::{HOSTS, World};

/// Time between complete verifications.
const VERIFY: Duration = Duration::from_secs(20);
/// Maximum number of namespaces in addition to the first.
const NAMESPACES: usize = 6;
const EIO: u32 = 5;
const ENOSPC: u32 = 28;
const EMFILE: u32 = 24;

pub(crate) struct Operator<'a> {
    world: &'a World,
    dice: Dice,
    launcher: &'a Launcher,
    disk: &'a Disk,
    server: Option<Server>,
    /// The end of the current fault of the disk or of descriptors.
    faults_until: Option<Instant>,
    /// Whether the current server has seen a fault.
    disturbed: bool,
    idlers: Vec<TcpStream>,
    link: Option<Host>,
    report: Report,
}

impl<'a> Operator<'a> {
    pub(crate) fn new(world: &'a World, launcher: &'a Launcher, disk: &'a Disk) -> Self {
        Operator {
            world,
            dice: Dice::new(world.seed, 2),
            launcher,
            disk,
            server: None,
            faults_until: None,
            disturbed: false,
            idlers: Vec::new(),
            link: None,
            report: Report::default(),
        }
    }

    /// Works for a while: three quarters of the time with kills and restarts, the last quarter without. Returns a
    /// report.
    ///
    /// # Errors
    /// The soak itself cannot continue. Problems of the server are violations.
    pub(crate) fn run(mut self, length: Duration) -> anyhow::Result<Report> {
        let began = Instant::now();
        self.start()?;
        self.report.idle_descriptors = descriptors(self.pid()?)?;
        std::thread::scope(|scope| {
            for number in 0..HOSTS {
                scope.spawn(move || crate::host::run(self.world, number));
            }
            let worked = self.work(began, length);
            if let Err(error) = &worked {
                self.world.violation(format_args!("the soak cannot go on: {error:#}"));
            }
            self.world.finishing.store(true, Ordering::Relaxed);
            worked
        })?;
        if self.world.violated().is_none() {
            self.finish()?;
        }
        if let Some(server) = self.server.take() {
            let _ = server.kill();
        }
        self.report.seconds = began.elapsed().as_secs_f64();
        self.report.injected = self.disk.struck()?;
        Ok(self.report)
    }

    fn work(&mut self, began: Instant, length: Duration) -> anyhow::Result<()> {
        let calm = began + length.mul_f64(0.75);
        let mut next = Instant::now() + Duration::from_secs(2);
        let mut sampled = Instant::now();
        let mut verified = Instant::now();
        while began.elapsed() < length && self.world.violated().is_none() {
            sleep(Duration::from_millis(5 + self.dice.below(100)));
            if let Some(status) = self.server_ended()? {
                bail!("the server ended by itself: {status}");
            }
            self.heal()?;
            if sampled.elapsed() > Duration::from_millis(500) {
                sampled = Instant::now();
                let (resident, files) = (resident(self.pid()?)?, descriptors(self.pid()?)?);
                self.report.sample(Instant::now() > calm, resident, files);
            }
            let done = match self.dice.below(10) {
                0..4 => self.counters(),
                4..6 => self.namespaces(),
                6 => self.reset(),
                _ => self.open_namespaces(),
            };
            self.judge(done);
            if verified.elapsed() > VERIFY {
                verified = Instant::now();
                self.free_descriptors();
                match verify(self.world) {
                    Ok(bytes) => self.report.verified += bytes,
                    error => self.judge(error.map(|_| ())),
                }
            }
            if Instant::now() >= next {
                next = Instant::now() + Duration::from_millis(1_000 + self.dice.below(4_000));
                let weights = EVENTS.map(|(event, weight)| match event {
                    // A long lifetime at the end reveals growth.
                    Event::Kill | Event::KillAtStart | Event::Restart if Instant::now() > calm => 0,
                    _ => weight,
                });
                let event = EVENTS[self.dice.weighted(&weights)].0;
                self.world.event(format_args!("operator: {}", event.name()));
                *self.report.events.entry(event).or_insert(0) += 1;
                self.strike(event)?;
            }
        }
        Ok(())
    }

    fn strike(&mut self, event: Event) -> anyhow::Result<()> {
        let length = Duration::from_millis(500 + self.dice.below(5_000));
        match event {
            Event::Kill => {
                self.kill()?;
                self.start()?;
            }
            Event::KillAtStart => {
                self.kill()?;
                for _ in 0..=self.dice.below(3) {
                    self.launcher.start_and_kill(Duration::from_millis(self.dice.below(150)))?;
                }
                self.start()?;
            }
            Event::Restart => self.restart()?,
            Event::Errors => {
                let mut some =
                    |most: u64| if self.dice.chance(60) { self.dice.below(most) as u32 } else { 0 };
                let (write, sync, name) = (some(8_000), some(30_000), some(30_000));
                let error = if self.dice.chance(50) { EIO } else { ENOSPC };
                let error = if name > 0 && self.dice.chance(30) { EMFILE } else { error };
                self.disk.set(Rates { write, sync, name, error })?;
                self.disturb(length);
            }
            Event::FullDisk => {
                self.disk.fill()?;
                self.disturb(length);
            }
            Event::FewDescriptors => {
                limit_descriptors(self.pid()?, Some(self.dice.below(3)))?;
                self.disturb(length);
            }
            Event::Drop => self.world.drop_connection(self.dice.below(HOSTS as u64) as usize),
            Event::Idlers => {
                for at in 0..64 {
                    let Ok(mut socket) = TcpStream::connect(self.world.address) else { break };
                    // Half of a header, or nothing.
                    let _ = socket.write_all(&[0; 4][..at % 5]);
                    self.idlers.push(socket);
                }
                let until = Instant::now() + length;
                self.faults_until = Some(self.faults_until.map_or(until, |at| at.max(until)));
            }
        }
        Ok(())
    }

    fn disturb(&mut self, length: Duration) {
        self.disturbed = true;
        let until = Instant::now() + length;
        self.faults_until = Some(self.faults_until.map_or(until, |at| at.max(until)));
    }

    /// Ends faults whose time has passed.
    fn heal(&mut self) -> anyhow::Result<()> {
        if self.faults_until.is_some_and(|until| until <= Instant::now()) {
            self.heal_now()?;
        }
        Ok(())
    }

    fn heal_now(&mut self) -> anyhow::Result<()> {
        self.faults_until = None;
        self.disk.set(Rates::default())?;
        self.disk.empty()?;
        self.free_descriptors();
        Ok(())
    }

    fn pid(&self) -> anyhow::Result<u32> {
        self.server.as_ref().map(Server::pid).context("no server")
    }

    fn server_ended(&mut self) -> anyhow::Result<Option<std::process::ExitStatus>> {
        self.server.as_mut().map_or(Ok(None), |server| Ok(server.ended()?))
    }

    /// Starts the server, which may refuse to start only while its files fail.
    fn start(&mut self) -> anyhow::Result<()> {
        self.disturbed = self.faults_until.is_some();
        let server = match self.launcher.start() {
            Err(error) if self.faults_until.is_some() => {
                self.world.event(format_args!("operator: {error:#}; the faults end"));
                self.report.refused += 1;
                self.heal_now()?;
                self.launcher.start()?
            }
            started => started?,
        };
        self.server = Some(server);
        let restarted = self.restarted();
        self.judge(restarted);
        Ok(())
    }

    /// Compares the namespaces and the counters of a newly started server with the model.
    fn restarted(&mut self) -> Result<(), HostError> {
        let link = self.link()?;
        let list: [U32; 1024] = link.identify(Cns::ALLOCATED_NAMESPACES, 0)?;
        let mut found = Vec::new();
        for nsid in list.iter().map(|nsid| nsid.get()).take_while(|nsid| *nsid > 0) {
            let id: IdentifyNamespace = link.identify(Cns::ALLOCATED_NAMESPACE, nsid)?;
            let shift = id.lbaf[usize::from(id.flbas & 15)].lbads;
            let bytes = id.nsze.get() << shift;
            found.push(Found { nsid, lba_bytes: 1 << shift, sectors: bytes / SECTOR as u64 });
        }
        for wrong in self.world.model().restarted(&found) {
            self.world.violation(wrong);
        }
        self.counters()
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        self.link = None;
        let server = self.server.take().context("no server")?;
        self.lived(&server)?;
        server.kill()?;
        self.world.model().server_gone(false);
        Ok(())
    }

    /// Shuts the server down cleanly and restarts it. Its exit status must report whether the drive was saved.
    fn restart(&mut self) -> anyhow::Result<()> {
        let warned = self.smart().ok().map(|smart| smart.critical_warning != 0);
        self.link = None;
        let server = self.server.take().context("no server")?;
        self.lived(&server)?;
        let calm = self.faults_until.is_none();
        let status = server.stop()?;
        self.world.model().server_gone(false);
        let expected = match warned {
            _ if !self.disturbed => Some(true),
            Some(false) if calm => Some(true),
            _ => None,
        };
        if expected.is_some_and(|success| success != status.success()) {
            self.world
                .violation(format_args!("the server ended with {status}, and nothing had failed"));
        }
        if !status.success() {
            self.report.unsaved += 1;
        }
        self.start()
    }

    fn lived(&mut self, server: &Server) -> anyhow::Result<()> {
        let life = Life {
            seconds: server.began.elapsed().as_secs_f64(),
            resident: resident(server.pid())?,
        };
        self.report.lives.push(life);
        Ok(())
    }

    fn judge(&mut self, done: Result<(), HostError>) {
        if let Err(error) = done {
            judge(self.world, &error, "operator");
            self.link = None;
        }
    }

    fn link(&mut self) -> Result<&mut Host, HostError> {
        if self.link.is_none() {
            self.free_descriptors();
            let options = options("operator", QueueOptions::default());
            self.link = Some(Host::connect(self.world.address, options)?);
        }
        self.link.as_mut().ok_or_else(|| HostError::Protocol(String::new()))
    }

    /// Frees descriptors for the server, because nothing else would while the operator waits for its connection.
    fn free_descriptors(&mut self) {
        self.idlers.clear();
        if let Some(server) = &self.server {
            // A server that has just ended is noticed elsewhere.
            let _ = limit_descriptors(server.pid(), None);
        }
    }

    fn smart(&mut self) -> Result<SmartLog, HostError> {
        let page = self.link()?.log(Lid::SMART, 0, 0, 512)?;
        SmartLog::read_from_bytes(&page).map_err(|_| HostError::Protocol("a short log".to_owned()))
    }

    fn counters(&mut self) -> Result<(), HostError> {
        let written = self.world.model().written();
        let link = self.link()?;
        let [(smart, bytes), (fdp, fdp_bytes)] = read_counters();
        let smart = link.admin("get log page", smart, &[], bytes)?;
        let fdp = link.admin("get log page", fdp, &[], fdp_bytes)?;
        if let Some(found) = reported(&smart.data, &fdp.data) {
            let result = self.world.model().check_counters(found, written);
            self.world.check(result);
            self.report.counters += 1;
        }
        if SmartLog::read_from_bytes(&smart.data).is_ok_and(|smart| smart.critical_warning != 0) {
            self.report.warnings += 1;
        }
        Ok(())
    }

    /// Deletes a namespace if there are many, or creates one.
    fn namespaces(&mut self) -> Result<(), HostError> {
        let mut alive = self.world.model().alive();
        // The first namespace, which is large, stays.
        alive.retain(|number| *number > 0);
        if alive.len() >= NAMESPACES || (alive.len() > 1 && self.dice.chance(40)) {
            let Some(number) = self.dice.pick(&alive) else { return Ok(()) };
            let nsid = self.world.model().space(number).nsid;
            self.world.model().deleting(number);
            let done = self.link()?.admin.execute(delete(nsid), &[], 0)?;
            if done.status.is_success() {
                self.world.model().space_mut(number).gone = true;
                self.report.deleted += 1;
            }
            return Ok(());
        }
        let creation = Creation::draw(&mut self.dice);
        let done = self.link()?.admin.execute(creation.sqe, creation.data.as_bytes(), 0)?;
        if done.status.is_success() {
            creation.done(&mut self.world.model(), done.dw as u32);
            self.report.created += 1;
        }
        Ok(())
    }

    /// Attaches new namespaces to all hosts once no commands for their predecessors are left, and opens them.
    fn open_namespaces(&mut self) -> Result<(), HostError> {
        let world = self.world;
        let cntlids = world.cntlids.each_ref().map(|cntlid| cntlid.load(Ordering::Relaxed));
        if cntlids.contains(&0) {
            return Ok(());
        }
        let candidates: Vec<(usize, u32)> = {
            let model = world.model();
            let numbers = model.alive().into_iter();
            let spaces = numbers.map(|number| (number, model.space(number)));
            // A namespace that a server found at its start, and whose creation was not reported, has unknown contents.
            let new = spaces
                .filter(|(_, space)| !space.open && space.fresh && !model.is_busy(space.nsid));
            new.map(|(number, space)| (number, space.nsid)).collect()
        };
        for (number, nsid) in candidates {
            let mut attached = 0;
            for cntlid in cntlids {
                let mut list = ControllerList { count: 1.into(), ..Default::default() };
                list.ids[0] = cntlid.into();
                let sqe = Sqe {
                    opcode: AdminOpcode::NAMESPACE_ATTACHMENT.0,
                    nsid: nsid.into(),
                    ..Default::default()
                };
                let done = self.link()?.admin.execute(sqe, list.as_bytes(), 0)?;
                let ok = done.status.is_success() || done.status == Status::ALREADY_ATTACHED;
                attached += usize::from(ok);
            }
            if attached == HOSTS {
                world.model().space_mut(number).open = true;
            }
        }
        Ok(())
    }

    /// Sends asynchronous event requests, and resets the controller, which frees their slots.
    fn reset(&mut self) -> Result<(), HostError> {
        let count = self.dice.below(5);
        self.report.resets += 1;
        let link = self.link()?;
        for _ in 0..count {
            let sqe = Sqe { opcode: AdminOpcode::ASYNC_EVENT_REQUEST.0, ..Default::default() };
            link.admin.submit(sqe, &[], 0);
        }
        link.reset()
    }

    /// Checks without faults that everything is there after a kill and after a clean restart, and that nothing is left
    /// open.
    fn finish(&mut self) -> anyhow::Result<()> {
        self.heal_now()?;
        self.link = None;
        // The server saves itself once it can, and closes ended connections.
        let until = Instant::now() + Duration::from_secs(30);
        let mut files = descriptors(self.pid()?)?;
        while files > self.report.idle_descriptors && Instant::now() < until {
            sleep(Duration::from_millis(200));
            files = descriptors(self.pid()?)?;
        }
        self.report.last_descriptors = files;
        if files > self.report.idle_descriptors {
            self.world.violation(format_args!(
                "{files} open files when nobody is connected, {} at the start",
                self.report.idle_descriptors
            ));
        }
        let check = |operator: &mut Self| -> anyhow::Result<()> {
            operator.report.verified += verify(operator.world)?;
            operator.counters()?;
            Ok(())
        };
        check(self)?;
        self.kill()?;
        self.start()?;
        check(self)?;
        self.restart()?;
        check(self)?;
        if let Some(growth) = self.report.growth()
            && growth > crate::report::GROWTH_KIB
        {
            self.world.violation(format_args!("resident memory grew by {growth} KiB"));
        }
        Ok(())
    }
}
