//! Properties of every model in the table.

use toml::Table;
use wafer_interface::{Batch, Command, CommandStream, LBA_BYTES, StreamState};

use super::*;

/// Namespaces on which every model works with its defaults.
fn space() -> Space {
    let extent = |bytes| Extent { bytes, handles: Some(8) };
    Space { page_bytes: 4096, namespaces: vec![extent(4 << 30), extent(4 << 30)] }
}

fn start(info: &ModelInfo, seed: u64) -> Box<dyn CommandStream> {
    let model = (info.make)(Table::new()).unwrap();
    model.start(&space(), seed).unwrap_or_else(|e| panic!("{}: {e}", info.name))
}

fn take(stream: &mut dyn CommandStream, count: usize, batch: usize) -> Vec<Command> {
    let mut out = Batch::default();
    while out.len() < count {
        let left = count - out.len();
        let state = stream.next(&mut out, batch.min(left));
        assert_eq!(state, StreamState::Ready, "a model never ends");
    }
    out.commands
}

#[test]
fn every_model_starts_with_its_defaults_and_tells_them() {
    for info in MODELS {
        let model = (info.make)(Table::new()).unwrap();
        assert_eq!(model.parameters(), (info.defaults)(), "{}", info.name);
        let again = (info.make)(model.parameters()).unwrap();
        assert_eq!(again.parameters(), model.parameters(), "{}", info.name);
        assert_eq!(find(info.name).map(|m| m.summary), Some(info.summary));
        let mut stream = start(info, 1);
        take(stream.as_mut(), 10_000, 4096);
        for figure in stream.figures() {
            assert!(figure.value.is_finite(), "{}: {}", info.name, figure.name);
        }
    }
}

#[test]
fn unknown_keys_are_refused_by_every_model() {
    for info in MODELS {
        let mut table = Table::new();
        table.insert("nonsense".to_owned(), toml::Value::Integer(1));
        let error = (info.make)(table).err().unwrap_or_else(|| panic!("{}", info.name));
        assert!(error.to_string().contains("nonsense"), "{error}");
    }
}

#[test]
fn the_same_seed_gives_the_same_commands_however_they_are_batched() {
    for info in MODELS {
        let commands = |seed, batch| take(start(info, seed).as_mut(), 150_000, batch);
        let one = commands(7, 4096);
        assert_eq!(one, commands(7, 613), "{}", info.name);
        assert_ne!(one, commands(8, 4096), "{}", info.name);
    }
}

#[test]
fn loading_first_changes_nothing_but_who_asks() {
    for info in MODELS {
        let mut stream = start(info, 3);
        let mut batch = Batch::default();
        while stream.load(&mut batch, 1000) == StreamState::Ready {}
        let mut out = batch.commands;
        let load = out.len();
        out.extend(take(stream.as_mut(), 20_000, 777));
        assert_eq!(out, take(start(info, 3).as_mut(), load + 20_000, 4096), "{}", info.name);
    }
}

#[test]
fn no_command_leaves_its_namespace() {
    let space = space();
    for info in MODELS {
        for command in take(start(info, 5).as_mut(), 300_000, 4096) {
            let namespace = &space.namespaces[usize::from(command.namespace.0)];
            let end = (command.lba + u64::from(command.blocks)) * LBA_BYTES;
            assert!(command.blocks > 0 && end <= namespace.bytes, "{}: {command:?}", info.name);
        }
    }
}

#[test]
fn a_namespace_too_small_is_an_error() {
    for info in MODELS {
        let model = (info.make)(Table::new()).unwrap();
        for bytes in [0, 4096, 1 << 16] {
            let error = model.start(&Space::single(bytes, 8), 0).err();
            assert!(error.is_some(), "{} on {bytes} bytes", info.name);
        }
    }
}
