//! A host that connects, works at random, checks what it reads, and reconnects.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use wafer_host::{Host, HostError, HostOptions, Queue, QueueOptions};
use wafer_simulation::plan::{Dice, Mix};
use wafer_simulation::work::{self, Check, Outstanding, SECTORS};

use crate::server::NQN;
use crate::world::World;

/// Time between commands of a host, which bounds what the model has to remember.
const THINK: Duration = Duration::from_micros(500);

/// Returns the options of a host.
pub(crate) fn options(name: &str, queue: QueueOptions) -> HostOptions {
    HostOptions { queue, ..HostOptions::new(NQN, name) }
}

/// Works until the soak ends.
pub(crate) fn run(world: &World, number: usize) {
    let mut dice = Dice::new(world.seed, 10 + number as u64);
    while !world.is_finishing() {
        if !world.may_connect() {
            sleep(Duration::from_millis(20));
            continue;
        }
        let mut outstanding = Outstanding::default();
        let ended = session(world, number, &mut dice, &mut outstanding);
        outstanding.give_up(&mut world.model());
        world.cntlids[number].store(0, Ordering::Relaxed);
        world.set_socket(number, None);
        if let Err(error) = ended {
            judge(world, &error, &format!("host {number}"));
            sleep(Duration::from_millis(5 + dice.below(50)));
        }
    }
}

/// Records a broken connection that the soak did not cause.
pub(crate) fn judge(world: &World, error: &HostError, who: &str) {
    match error {
        HostError::Terminated(_) | HostError::Protocol(_) => {
            world.violation(format_args!("{who}: {error}"));
        }
        HostError::Io(io)
            if matches!(
                io.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
            ) =>
        {
            world.violation(format_args!("{who}: a command did not complete in a minute"));
        }
        _ => {}
    }
}

fn mix(dice: &mut Dice) -> Mix {
    let commands = [30 + dice.below(30), 20 + dice.below(30), dice.below(8), dice.below(8)];
    let [writes, reads, zeroes, deallocations] = commands;
    let (copies, flushes) = (dice.below(8), 1 + dice.below(6));
    Mix {
        commands: [
            writes,
            reads,
            zeroes,
            deallocations,
            copies,
            flushes,
            dice.below(4),
            dice.below(4),
        ],
        fua: dice.below(10),
        depth: 1 + dice.below(16),
        units: 1 + dice.below(16),
    }
}

/// Connects and works for a while, or until the connection breaks.
fn session(
    world: &World,
    number: usize,
    dice: &mut Dice,
    outstanding: &mut Outstanding,
) -> Result<(), HostError> {
    let queue = QueueOptions {
        header_digest: dice.chance(30),
        data_digest: dice.chance(30),
        r2ts: 1 + dice.below(4) as u32,
        in_capsule: if dice.chance(50) { 8192 } else { 1024 },
        no_flow_control: dice.chance(50),
        ..QueueOptions::default()
    };
    let mut host = Host::connect(world.address, options(&format!("host{number}"), queue))?;
    let mut link = host.io_queue(1)?;
    world.sessions.fetch_add(1, Ordering::Relaxed);
    world.cntlids[number].store(host.cntlid, Ordering::Relaxed);
    world.set_socket(number, link.stream().try_clone().ok());
    world.connected.fetch_add(1, Ordering::Relaxed);
    let worked = work_on(world, dice, outstanding, &mut link);
    world.connected.fetch_sub(1, Ordering::Relaxed);
    worked?;
    if dice.chance(30) {
        host.reset()?;
    }
    Ok(())
}

fn work_on(
    world: &World,
    dice: &mut Dice,
    outstanding: &mut Outstanding,
    link: &mut Queue,
) -> Result<(), HostError> {
    let mix = mix(dice);
    let end = Instant::now() + Duration::from_millis(200 + dice.below(8_000));
    let mut submitted = BTreeMap::new();
    loop {
        let open = Instant::now() < end && world.may_connect();
        while open && outstanding.len() < mix.depth as usize && link.has_room() {
            let mut model = world.model();
            let Some(space) = dice.pick(&model.open_spaces()) else { break };
            let units = model.space(space).sectors() / SECTORS;
            let command = work::draw(&mut model, dice, &mix, space, units);
            drop(model);
            let cid = link.submit(command.sqe, &command.send, command.receive);
            outstanding.insert(cid, command.pending);
            submitted.insert(cid, Instant::now());
            world.commands.fetch_add(1, Ordering::Relaxed);
            sleep(THINK);
        }
        if outstanding.is_empty() {
            if !open {
                return Ok(());
            }
            sleep(Duration::from_millis(5));
            continue;
        }
        let done = link.complete()?;
        if let Some(began) = submitted.remove(&done.cid) {
            world.took(began.elapsed());
        }
        if !done.status.is_success() {
            world.failed.fetch_add(1, Ordering::Relaxed);
        }
        let result = outstanding.completed(&mut world.model(), &done);
        world.check(result);
    }
}

/// Reads everything that hosts may use and compares it with the model. Returns the number of bytes.
///
/// # Errors
/// The connection broke.
pub(crate) fn verify(world: &World) -> Result<u64, HostError> {
    let host = Host::connect(world.address, options("host0", QueueOptions::default()))?;
    let mut link = host.io_queue(1)?;
    let checks = Check::all(&world.model());
    let mut bytes = 0;
    for check in checks {
        // A namespace may be removed, and files may fail, during this.
        let op = check.begin(&mut world.model());
        let done = link.execute(check.sqe, &[], check.bytes)?;
        let mut model = world.model();
        if check.is_open(&model) && done.status.is_success() {
            bytes += check.bytes as u64;
        }
        let result = check.end(&mut model, op, &done);
        let open = check.is_open(&model);
        drop(model);
        if open {
            world.check(result);
        }
    }
    Ok(bytes)
}
