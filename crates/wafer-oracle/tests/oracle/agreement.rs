//! Drives both devices with the same steps and compares everything observable.

use proptest::prelude::*;
use wafer_device::policy::{self, VictimPolicy};
use wafer_device::{Device, NamespaceError};
use wafer_interface::{Command, NsId, Observer, Placement, RgId, RuId, RuhId};
use wafer_oracle::{Oracle, Policy, Replay, named};

use crate::configs::{Case, Step};
use crate::witness::{Heard, Log, Witness};

/// The result of a step other than a command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    Unwritten(Option<u32>),
    Created(Result<NsId, NamespaceError>),
    Deleted(bool),
}

/// The operations of both devices.
pub(crate) trait Target {
    fn commands(&mut self, commands: &[Command]);
    fn update(&mut self, namespace: NsId, placement: Placement) -> Option<u32>;
    fn create(&mut self, pages: u64, handles: &[RuhId]) -> Result<NsId, NamespaceError>;
    fn delete(&mut self, namespace: NsId) -> bool;
    fn reset(&mut self);
}

impl<O: Observer> Target for Device<O> {
    fn commands(&mut self, commands: &[Command]) {
        self.apply(commands);
    }

    fn update(&mut self, namespace: NsId, placement: Placement) -> Option<u32> {
        self.update_reclaim_unit(namespace, placement)
    }

    fn create(&mut self, pages: u64, handles: &[RuhId]) -> Result<NsId, NamespaceError> {
        self.create_namespace(pages, handles)
    }

    fn delete(&mut self, namespace: NsId) -> bool {
        self.delete_namespace(namespace)
    }

    fn reset(&mut self) {
        self.reset_counters();
    }
}

impl Target for Oracle {
    fn commands(&mut self, commands: &[Command]) {
        commands.iter().for_each(|command| self.apply(command));
    }

    fn update(&mut self, namespace: NsId, placement: Placement) -> Option<u32> {
        self.update_reclaim_unit(namespace, placement)
    }

    fn create(&mut self, pages: u64, handles: &[RuhId]) -> Result<NsId, NamespaceError> {
        self.create_namespace(pages, handles)
    }

    fn delete(&mut self, namespace: NsId) -> bool {
        self.delete_namespace(namespace)
    }

    fn reset(&mut self) {
        self.reset_counters();
    }
}

/// Applies steps; consecutive commands together.
pub(crate) fn apply(target: &mut impl Target, steps: &[Step]) -> Vec<Answer> {
    let mut answers = Vec::new();
    let mut commands = Vec::new();
    for step in steps {
        if let Step::Command(command) = step {
            commands.push(*command);
            continue;
        }
        target.commands(&std::mem::take(&mut commands));
        match step {
            Step::Command(_) => {}
            Step::Update(namespace, placement) => {
                answers.push(Answer::Unwritten(target.update(*namespace, *placement)));
            }
            Step::Create(pages, handles) => {
                answers.push(Answer::Created(target.create(*pages, handles)));
            }
            Step::Delete(namespace) => answers.push(Answer::Deleted(target.delete(*namespace))),
            Step::Reset => target.reset(),
        }
    }
    target.commands(&commands);
    answers
}

/// Compares both devices with the policy of the configuration.
pub(crate) fn agree(case: &Case) -> Result<(), TestCaseError> {
    agree_with(case, policy::make(&case.config.gc).unwrap(), named(&case.config.gc))
}

/// Compares both devices. If the oracle is given no policy, it repeats the device's choices.
pub(crate) fn agree_with(
    case: &Case,
    of_device: Box<dyn VictimPolicy>,
    of_oracle: Option<Box<dyn Policy>>,
) -> Result<(), TestCaseError> {
    let (log, replay) = (Log::default(), Replay::default());
    let policy = Witness::new(of_device, log.clone());
    let mut device =
        Device::with_policy(&case.config, policy, case.seed, Heard::with_attribution()).unwrap();
    let of_oracle = of_oracle.unwrap_or_else(|| Box::new(replay.clone()));
    let mut oracle = Oracle::new(&case.config, of_oracle, case.seed);
    for (at, steps) in case.steps.chunks(case.batch).enumerate() {
        let answers = apply(&mut device, steps);
        let asked = log.take();
        replay.add(&asked);
        prop_assert_eq!(answers, apply(&mut oracle, steps), "batch {}: {:?}", at, steps);
        prop_assert_eq!(asked, oracle.take_asked(), "batch {}: {:?}", at, steps);
        let heard = std::mem::take(&mut device.observer_mut().events);
        prop_assert_eq!(heard, oracle.take_events(), "batch {}: {:?}", at, steps);
        prop_assert_eq!(device.counters(), oracle.counters(), "batch {}: {:?}", at, steps);
    }
    prop_assert_eq!(device.attribution(), Some(oracle.attribution()));
    same_state(&device, &oracle)
}

/// Compares the contents and counters of both devices.
pub(crate) fn same_state<O: Observer>(
    device: &Device<O>,
    oracle: &Oracle,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(device.check_invariants(), Ok(()));
    prop_assert_eq!(device.counters(), oracle.counters());
    prop_assert_eq!(device.check_writable().is_err(), oracle.is_read_only());
    prop_assert_eq!(device.handle_counters(), oracle.handle_counters());
    prop_assert_eq!(device.gc_counters().unwrap_or_default(), oracle.gc_counters());
    for (number, unit) in (0..).zip(oracle.reclaim_units()) {
        let ru = RuId(number);
        let of_device = (
            device.owner(ru),
            device.is_closed(ru),
            device.valid_pages(ru),
            device.erase_count(ru),
        );
        prop_assert_eq!(of_device, unit, "reclaim unit {}", number);
    }
    for group in (0..device.geometry().groups).map(RgId) {
        prop_assert_eq!(device.free_rus(group), oracle.free_units(group));
        for handle in (0..device.geometry().handles).map(RuhId) {
            let room = device.available_pages(group, handle);
            prop_assert_eq!(room, oracle.available_pages(group, handle));
        }
    }
    Ok(())
}
