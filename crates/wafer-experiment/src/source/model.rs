//! Application models: `model = "aerospike"` and the keys of that model in the same table.

use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Value, json};
use wafer_apps::model;
use wafer_apps::model::{Extent, MODELS, Model, ModelInfo, Space};

use super::interface::{Built, Host, Kind, Source, SourceTarget, Workload, depth_fault};
use crate::error::LabError;
use crate::memory::refuse_if_short;
use wafer_config::{Files, Layers, did_you_mean, schema as schemas};

pub(super) const KIND: Kind = Kind { keys: &["model"], beside: &["trace"], parse, schema };

/// An application model with its parameters.
#[derive(Debug)]
pub struct ModelSource {
    name: &'static str,
    /// Keys that name files.
    paths: &'static [&'static str],
    model: Box<dyn Model>,
    host: HostFile,
    /// The keys, to locate errors.
    table: Layers,
    path: String,
}

/// How the application waits for the drive, in keys that every model has.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HostFile {
    /// Commands that the application keeps in flight, 1 to 65536: its weight relative to other tenants; with a clock,
    /// the maximum number in flight.
    queue_depth: Option<u32>,
    /// Application think time between a completion and the next submission, in microseconds, 0 to 1e9. Ignored without
    /// a clock.
    think_time_us: Option<f64>,
}

impl HostFile {
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        depth_fault(self.queue_depth).map_or(Ok(()), Err)?;
        if self.think_time_us.is_some_and(|time| !(0.0..=1e9).contains(&time)) {
            return Err(("think_time_us", "expected a number from 0 to 1e9"));
        }
        Ok(())
    }

    fn host(&self) -> Host {
        let think_time_ns = (self.think_time_us.unwrap_or(0.0) * 1e3).round() as u64;
        Host { queue_depth: self.queue_depth, think_time_ns }
    }

    /// Returns the keys that are given, as TOML.
    fn text(&self) -> String {
        let depth = self.queue_depth.map(|depth| format!("queue_depth = {depth}\n"));
        let time = self.think_time_us.map(|time| format!("think_time_us = {time:?}\n"));
        [depth, time].into_iter().flatten().collect()
    }
}

impl Source for ModelSource {
    fn kind(&self) -> &'static str {
        "model"
    }

    fn path(&self) -> String {
        self.path.clone()
    }

    fn files(&self) -> Vec<PathBuf> {
        let (paths, parameters) = (self.paths, self.model.parameters());
        let read = paths.iter().filter_map(|key| Some(parameters.get(*key)?.as_str()?.into()));
        std::iter::once(self.path.clone().into()).chain(read).collect()
    }

    fn text(&self) -> String {
        format!("model = \"{}\"\n{}{}", self.name, self.host.text(), self.model.parameters())
    }

    fn memory_bytes(&self, target: &SourceTarget<'_>) -> Result<u64, LabError> {
        Ok(self
            .model
            .memory_bytes(&space(target))
            .map_err(|e| self.table.error(&e.key, &e.message))?)
    }

    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError> {
        target.refuse_pace("only jobs of a fio job file have shares; tenants have `rate`")?;
        if !target.until_volume {
            let reason = format!("the model {} never ends: give a volume", self.name);
            return Err(self.table.error("model", &reason).into());
        }
        let space = space(target);
        let memory_bytes = self.memory_bytes(target)?;
        let what = format!("the model {} on {}", self.name, target.device.name);
        refuse_if_short(what, memory_bytes, crate::memory::available_memory())?;
        let stream = self
            .model
            .start(&space, target.seed)
            .map_err(|e| self.table.error(&e.key, &e.message))?;
        Ok(Built {
            host: self.host.host(),
            jobs: Vec::new(),
            stream,
            total_bytes: None,
            memory_bytes,
            ignored: Vec::new(),
            notices: Vec::new(),
        })
    }
}

/// Returns the namespaces of a device for a model.
fn space(target: &SourceTarget<'_>) -> Space {
    let (config, geometry) = (&target.device.config, &target.device.geometry);
    let extents = geometry.namespace_bytes().into_iter().zip(&geometry.namespace_handles);
    let handles = |list: &Vec<u16>| config.fdp.then(|| list.len() as u16 * geometry.groups);
    Space {
        page_bytes: geometry.page_bytes,
        namespaces: extents.map(|(bytes, list)| Extent { bytes, handles: handles(list) }).collect(),
    }
}

/// Returns one table for each model: its keys other than `model`.
fn schema(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let table = |info: &ModelInfo| {
        let name = json!({
            "description": "The application model.", "type": "string", "const": info.name,
        });
        let table = schemas::merged(schemas::table_with("model", name), &(info.schema)(generator));
        let mut table = schemas::merged(table, &HostFile::json_schema(generator));
        table.insert("description".to_owned(), info.summary.into());
        let defaults = model_defaults(info);
        for key in schemas::names::<HostFile>() {
            let path = format!("/properties/{key}");
            if let Some(Value::Object(schema)) = table.pointer_mut(&path) {
                schema.insert("default".to_owned(), json!(defaults[&key]));
            }
        }
        schemas::define(generator, &format!("workload-{}", info.name), table)
    };
    MODELS.iter().map(table).collect()
}

fn parse(mut table: Layers, files: &Files, path: &Path) -> Result<Workload, LabError> {
    let place = table.clone();
    let name = table.take_string("model")?.unwrap_or_default();
    let info = find(&name).map_err(|reason| place.error("model", &reason))?;
    for key in info.paths {
        table.beside(key, &files.folder);
    }
    // Done first, because the keys are then read in two parts, neither of which knows the keys of the other.
    let own = schemas::names_in(&(info.schema)(&mut schemas::generator()));
    let of_host = schemas::names::<HostFile>();
    table.refuse_others(&[own, of_host.clone()].concat())?;
    let host: HostFile = table.take(&of_host)?;
    host.check().map_err(|(key, reason)| place.error(key, reason))?;
    let model = table.read_by(info.make)?;
    let path = path.display().to_string();
    Ok(Workload::new(ModelSource {
        name: info.name,
        paths: info.paths,
        model,
        host,
        table: place,
        path,
    }))
}

fn find(name: &str) -> Result<&'static ModelInfo, String> {
    let names: Vec<&str> = MODELS.iter().map(|m| m.name).collect();
    model::find(name).ok_or_else(|| format!("no model `{name}`{}", did_you_mean(name, &names)))
}

/// Returns all application models.
pub fn models() -> &'static [ModelInfo] {
    MODELS
}

/// Returns the keys of a model with their defaults, including those that every model has.
pub fn model_defaults(model: &ModelInfo) -> toml::Table {
    let mut keys = (model.defaults)();
    keys.insert("queue_depth".to_owned(), model.queue_depth.into());
    keys.insert("think_time_us".to_owned(), 0.0.into());
    keys
}

/// Returns the application model with this name.
///
/// # Errors
/// There is no such model; the message suggests a similar name.
pub fn find_model(name: &str) -> Result<&'static ModelInfo, LabError> {
    find(name).map_err(|reason| LabError::argument("name", reason))
}
