//! The operator: manages namespaces, reads counters, resets its controller, and breaks things.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;
use wafer_drive::NamespaceRequest;
use wafer_host::{HostError, QueueOptions};
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{AdminOpcode, Sqe};

use crate::host::{judge, options, verify};
use crate::link::Link;
use crate::model::SECTOR;
use crate::plan::{Action, Dice};
use crate::work::{Creation, created, delete, read_counters, reported};
use crate::world::{Crash, HOSTS, World};

/// Entries of the operator's admin queue: few, so that a leak shows soon.
const ENTRIES: u16 = 12;
/// Data that one task of the server may move before others get their turn, bytes.
const LONGEST_WORK: u64 = 24 << 20;

/// Works for the planned time, then ends all faults, restarts the server once more, and has all data verified.
///
/// # Errors
/// None; problems are recorded as violations.
pub(crate) async fn run(world: Arc<World>) -> turmoil::Result {
    let mut operator = Operator {
        dice: Dice::new(world.plan.seed, 2),
        faults_until: Duration::ZERO,
        cut: None,
        link: None,
        requests: 0,
        world,
    };
    operator.work().await;
    operator.finish().await;
    Ok(())
}

struct Operator {
    world: Arc<World>,
    dice: Dice,

    faults_until: Duration,
    /// A host that is cut off, and the end of that.
    cut: Option<(usize, Duration)>,
    link: Option<Link>,
    /// Outstanding asynchronous event requests.
    requests: u64,
}

impl Operator {
    async fn work(&mut self) {
        while turmoil::elapsed() < self.world.plan.length && self.world.violated().is_none() {
            sleep(Duration::from_millis(1 + self.dice.below(12))).await;
            self.heal();
            self.open_namespaces();
            let actions = self.world.plan.actions;
            let chosen = self.dice.weighted(&actions.map(|(_, weight)| weight));
            let done = match actions[chosen].0 {
                Action::Counters => self.counters().await,
                Action::Namespaces => self.namespaces().await,
                Action::Replace => self.replace(),
                Action::Resets => self.resets().await,
                Action::Kills => self.crash(false, false),
                Action::Power => self.crash(true, false),
                Action::Restarts => self.restart(),
                Action::Faults => self.faults(),
                Action::Partitions => self.cut(),
                Action::Files => self.crash(false, true),
                // Done by a host.
                Action::Greedy => Ok(()),
            };
            if let Err(error) = done {
                self.world.event(format_args!("operator: {error}"));
                judge(&self.world, &error, "operator");
                self.link = None;
            }
        }
    }

    async fn finish(&mut self) {
        self.faults_until = Duration::ZERO;
        self.cut = self.cut.map(|(host, _)| (host, Duration::ZERO));
        self.heal();
        while self.world.crash_pending() || self.world.subsystem().is_none() {
            if self.world.crash_pending() {
                // Hosts may be so quiet that the awaited operation never comes.
                self.world.disk.die();
            }
            sleep(Duration::from_millis(5)).await;
            if self.world.violated().is_some() {
                break;
            }
        }
        self.world.finishing.store(true, Ordering::Relaxed);
        while self.world.stopped.load(Ordering::Relaxed) < HOSTS as u64 {
            sleep(Duration::from_millis(5)).await;
        }
        let longest = self.world.disk.longest_work();
        if longest > LONGEST_WORK {
            self.world.violation(format_args!(
                "one task of the server moved {longest} bytes before others had their turn"
            ));
        }
        if self.world.violated().is_none() {
            let power = self.dice.chance(50);
            let _ = self.crash(power, false);
            while self.world.crash_pending() || self.world.subsystem().is_none() {
                sleep(Duration::from_millis(5)).await;
                if self.world.violated().is_some() {
                    break;
                }
            }
        }
        if self.world.violated().is_none() {
            sleep(Duration::from_millis(5)).await;
            if let Err(error) = verify(&self.world).await {
                self.world.violation(format_args!("data cannot be verified: {error}"));
            }
        }
        self.world.over.store(true, Ordering::Relaxed);
    }

    /// Ends faults whose time has passed.
    fn heal(&mut self) {
        let now = turmoil::elapsed();
        if self.faults_until <= now {
            self.world.disk.set_faults(false);
        }
        if let Some((host, until)) = self.cut
            && until <= now
        {
            turmoil::repair("server", format!("host{host}"));
            self.world.event(format_args!("operator: host {host} is back"));
            self.cut = None;
        }
    }

    async fn link(&mut self) -> Result<&mut Link, HostError> {
        if self.link.is_none() {
            let queue = QueueOptions { entries: ENTRIES, ..QueueOptions::default() };
            let options = options("operator", 0, queue);
            let (link, _) = Link::connect_admin(&options).await?;
            self.requests = 0;
            self.link = Some(link);
        }
        self.link.as_mut().ok_or_else(|| HostError::Protocol(String::new()))
    }

    async fn counters(&mut self) -> Result<(), HostError> {
        let world = Arc::clone(&self.world);
        let link = self.link().await?;
        let (written, losses) = {
            let model = world.model();
            (model.written(), model.losses)
        };
        let [(smart, bytes), (fdp, fdp_bytes)] = read_counters();
        let smart = link.execute(smart, &[], bytes).await?;
        let fdp = link.execute(fdp, &[], fdp_bytes).await?;
        let Some(found) = reported(&smart.data, &fdp.data) else { return Ok(()) };
        let mut model = self.world.model();
        if model.losses != losses {
            // The response was in flight when the power failed.
            return Ok(());
        }
        let result = model.check_counters(found, written);
        drop(model);
        self.world.check(result);
        Ok(())
    }

    /// Deletes a namespace if there are many, or creates one.
    async fn namespaces(&mut self) -> Result<(), HostError> {
        let alive = self.world.model().alive();
        if alive.len() >= 3 || (alive.len() > 1 && self.dice.chance(40)) {
            let Some(number) = self.dice.pick(&alive) else { return Ok(()) };
            return self.delete(number).await;
        }
        let creation = Creation::draw(&mut self.dice);
        let done = self.link().await?.execute(creation.sqe, creation.data.as_bytes(), 0).await?;
        self.world.event(format_args!("operator: creates {:?} {}", done.status, done.dw));
        if done.status.is_success() {
            creation.done(&mut self.world.model(), done.dw as u32);
        }
        Ok(())
    }

    async fn delete(&mut self, number: usize) -> Result<(), HostError> {
        let nsid = self.world.model().space(number).nsid;
        self.world.model().deleting(number);
        let done = self.link().await?.execute(delete(nsid), &[], 0).await?;
        self.world.event(format_args!("operator: deletes {nsid} {:?}", done.status));
        if done.status.is_success() {
            self.world.model().space_mut(number).gone = true;
        }
        Ok(())
    }

    /// Deletes a namespace and creates another one in its place while the next command reads data.
    fn replace(&mut self) -> Result<(), HostError> {
        let alive = self.world.model().open_spaces();
        let (Some(number), Some(subsystem)) = (self.dice.pick(&alive), self.world.subsystem())
        else {
            return Ok(());
        };
        let world = Arc::downgrade(&self.world);
        let drive = Arc::downgrade(&subsystem.drive);
        self.world.disk.interleave(1 + self.dice.below(4), move || {
            let (Some(world), Some(drive)) = (world.upgrade(), drive.upgrade()) else { return };
            let (nsid, lba_bytes, sectors) = {
                let mut model = world.model();
                let space = model.space(number);
                if !space.open {
                    return;
                }
                let replaced = (space.nsid, space.lba_bytes, space.sectors());
                model.deleting(number);
                replaced
            };
            if drive.delete_namespace(nsid).is_err() {
                return;
            }
            world.model().space_mut(number).gone = true;
            world.event(format_args!("operator: replaces {nsid} while a command reads data"));
            let request = NamespaceRequest {
                pages: sectors * SECTOR as u64 / 4096,
                lba_bytes: lba_bytes as u32,
                handles: Vec::new(),
                everyone: false,
                private: false,
            };
            if let Ok(nsid) = drive.create_namespace(request) {
                created(&mut world.model(), nsid, lba_bytes, sectors);
            }
        });
        Ok(())
    }

    /// Opens new namespaces to hosts once no commands for their predecessors are left.
    fn open_namespaces(&mut self) {
        let Some(subsystem) = self.world.subsystem() else { return };
        let mut model = self.world.model();
        for number in model.alive() {
            let nsid = model.space(number).nsid;
            if model.space(number).open || model.is_busy(nsid) {
                continue;
            }
            // A namespace that a server found at its start, and whose creation was not reported, has unknown contents.
            if !model.space(number).fresh {
                continue;
            }
            let name = |host| options(&format!("host{host}"), 0, QueueOptions::default()).hostnqn;
            let hosts = (0..HOSTS).map(name).collect();
            let attached = subsystem.drive.attach_namespace(nsid, hosts, true);
            if self.world.disk.is_dead() {
                return;
            }
            if attached.is_err() {
                continue;
            }
            model.space_mut(number).open = true;
            self.world.event(format_args!("operator: opens {nsid}"));
        }
    }

    /// Sends asynchronous event requests, resets the controller, or both.
    async fn resets(&mut self) -> Result<(), HostError> {
        let count = self.dice.below(5);
        let reset = self.dice.chance(70);
        let outstanding = self.requests;
        let link = self.link().await?;
        for _ in outstanding..count {
            let sqe = Sqe { opcode: AdminOpcode::ASYNC_EVENT_REQUEST.0, ..Default::default() };
            link.submit(sqe, &[], 0);
        }
        if reset {
            link.enable(false).await?;
            link.enable(true).await?;
            self.requests = 0;
        } else {
            self.requests = outstanding.max(count);
        }
        Ok(())
    }

    fn crash(&mut self, power: bool, files: bool) -> Result<(), HostError> {
        let after = if self.dice.chance(50) && !self.world.is_finishing() {
            1 + self.dice.below(30)
        } else {
            0
        };
        self.world.event(format_args!("operator: power {power}, files {files}, after {after}"));
        self.world.crash(Crash { power, files, after });
        Ok(())
    }

    fn restart(&mut self) -> Result<(), HostError> {
        self.world.event("operator: restarts");
        self.world.disturb(500);
        self.world.stop_server();
        Ok(())
    }

    fn faults(&mut self) -> Result<(), HostError> {
        self.world.disk.set_faults(true);
        self.faults_until = turmoil::elapsed() + Duration::from_millis(5 + self.dice.below(60));
        self.world.event(format_args!("operator: disk faults until {:?}", self.faults_until));
        Ok(())
    }

    fn cut(&mut self) -> Result<(), HostError> {
        if self.cut.is_none() {
            let host = self.dice.below(HOSTS as u64) as usize;
            let length = 20 + self.dice.below(200);
            turmoil::partition("server", format!("host{host}"));
            self.world.disturb(length + 3_000);
            self.cut = Some((host, turmoil::elapsed() + Duration::from_millis(length)));
            self.world.event(format_args!("operator: host {host} is cut off for {length} ms"));
        }
        Ok(())
    }
}
