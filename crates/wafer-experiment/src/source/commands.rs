//! Commands in memory, created by a program.

use std::sync::Arc;

use wafer_interface::{
    Batch, Command, CommandStream, Completion, Figure, LBA_BYTES, StreamDescription, StreamState,
};

use super::interface::{Built, Host, Source, SourceTarget};
use crate::error::LabError;

/// A list of commands, executed in order.
#[derive(Clone, Debug)]
pub struct CommandsSource {
    /// Name in messages and in the record.
    pub name: String,
    /// The commands; shared between runs.
    pub commands: Arc<[Command]>,
    /// Whether placements are placement identifiers; otherwise, they are indices into the namespace's list.
    pub identifiers: bool,
    /// Whether to repeat the commands until the run's volume is reached. Without a volume they run once.
    pub repeat: bool,
}

impl CommandsSource {
    /// Refuses commands beyond the end of their namespace.
    fn check(&self, target: &SourceTarget<'_>) -> Result<(), LabError> {
        let namespaces = target.device.geometry.namespace_bytes();
        let refused = |at: usize, reason: String| {
            Err(LabError::Workload(format!("{}: command {at}: {reason}", self.name)))
        };
        for (at, command) in self.commands.iter().enumerate() {
            let namespace = command.namespace.index();
            let Some(bytes) = namespaces.get(namespace) else {
                let count = namespaces.len();
                return refused(at, format!("namespace {namespace}; the device has {count}"));
            };
            // The message is in bytes, because the caller may count in units other than blocks.
            let first = u128::from(command.lba) * u128::from(LBA_BYTES);
            let end = first + u128::from(command.blocks) * u128::from(LBA_BYTES);
            if end > u128::from(*bytes) {
                return refused(at, format!("it ends at byte {end}; the namespace has {bytes}"));
            }
        }
        Ok(())
    }

    fn written_bytes(&self) -> u64 {
        self.commands.iter().map(Command::written_bytes).sum()
    }
}

impl Source for CommandsSource {
    fn kind(&self) -> &'static str {
        "commands"
    }

    fn path(&self) -> String {
        self.name.clone()
    }

    /// Returns the number of commands and their FNV-1a digest, because there are too many to list.
    fn text(&self) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |number: u64| hash = (hash ^ number).wrapping_mul(0x100_0000_01b3);
        for command in self.commands.iter() {
            add(command.lba);
            add(u64::from(command.blocks));
            add(u64::from(command.placement.0));
            add(command.op as u64 | u64::from(command.namespace.0) << 8);
        }
        format!("{} commands, digest {hash:016x}", self.commands.len())
    }

    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError> {
        self.check(target)?;
        let total = self.written_bytes();
        let repeat = self.repeat && target.until_volume;
        if repeat && total == 0 {
            let reason = "no command writes: the volume would never be reached";
            return Err(LabError::Workload(format!("{}: {reason}", self.name)));
        }
        Ok(Built {
            host: Host::default(),
            jobs: Vec::new(),
            stream: Box::new(Replay {
                commands: self.commands.clone(),
                identifiers: self.identifiers,
                next: 0,
                repeat,
            }),
            total_bytes: (!repeat).then_some(total),
            // The commands are already in memory before the run.
            memory_bytes: 0,
            ignored: Vec::new(),
            notices: Vec::new(),
        })
    }
}

struct Replay {
    commands: Arc<[Command]>,
    identifiers: bool,
    next: usize,
    repeat: bool,
}

impl CommandStream for Replay {
    fn description(&self) -> StreamDescription {
        StreamDescription {
            identifiers: self.identifiers,
            queue_depth: 1,
            loads: false,
            timed: false,
            waits: false,
        }
    }

    fn load(&mut self, _: &mut Batch, _: usize) -> StreamState {
        StreamState::Ended
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let mut left = max;
        while left > 0 {
            if self.next == self.commands.len() {
                if !self.repeat {
                    return StreamState::Ended;
                }
                self.next = 0;
            }
            let end = self.commands.len().min(self.next + left);
            batch.commands.extend_from_slice(&self.commands[self.next..end]);
            left -= end - self.next;
            self.next = end;
        }
        StreamState::Ready
    }

    fn completed(&mut self, _: &[Completion]) {}

    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use wafer_interface::Placement;

    use super::*;
    use crate::{Experiment, Options, Workload};
    use wafer_config::device_from_text;

    fn experiment(commands: Vec<Command>, repeat: bool) -> Experiment {
        let text = "capacity = \"16MiB\"\noverprovisioning = 1.0\nhandles = 2\n\
                    [reclaim_unit]\nsize = \"1MiB\"\n";
        let device = device_from_text("small", text, &[]).unwrap();
        let source = CommandsSource {
            name: "arrays".into(),
            commands: commands.into(),
            identifiers: false,
            repeat,
        };
        let volume = repeat.then(|| "1x".parse().unwrap());
        Experiment::of(device, Workload::new(source), &Options { volume, ..Options::default() })
    }

    #[test]
    fn commands_that_the_device_has_no_room_for_are_named() {
        let past = Command::write(16 * 2048 - 1, 2, Placement::NONE);
        let message = |command: Command| {
            let commands = vec![Command::write(0, 8, Placement::NONE), command];
            experiment(commands, false).check().unwrap_err().to_string()
        };
        assert_eq!(
            message(past),
            "arrays: command 1: it ends at byte 16777728; the namespace has 16777216"
        );
        assert_eq!(
            message(Command { lba: u64::MAX, ..past }),
            "arrays: command 1: it ends at byte 9444732965739290427904; the namespace has 16777216"
        );
        assert_eq!(
            message(past.on(wafer_interface::NsId(3))),
            "arrays: command 1: namespace 3; the device has 1"
        );
        let error = experiment(vec![Command::deallocate(0, 8)], true).check();
        assert!(error.unwrap_err().to_string().contains("no command writes"));
    }
}
