//! Application models: `model = "aerospike"` and the keys of that model in the same table.

use std::path::Path;

use schemars::{Schema, SchemaGenerator};
use serde_json::json;
use wafer_apps::model;
use wafer_apps::model::{Extent, MODELS, Model, ModelInfo, Space};

use super::interface::{Built, Kind, Source, SourceTarget, Workload};
use crate::config::{Files, Layers, did_you_mean, schema as schemas};
use crate::error::LabError;
use crate::memory::refuse_if_short;

pub(super) const KIND: Kind = Kind { keys: &["model"], parse, schema };

/// An application model with its parameters.
#[derive(Debug)]
pub struct ModelSource {
    name: &'static str,
    model: Box<dyn Model>,
    /// The keys, for the places of errors.
    table: Layers,
    path: String,
}

impl Source for ModelSource {
    fn kind(&self) -> &'static str {
        "model"
    }

    fn path(&self) -> String {
        self.path.clone()
    }

    fn text(&self) -> String {
        format!("model = \"{}\"\n{}", self.name, self.model.parameters())
    }

    fn memory_bytes(&self, target: &SourceTarget<'_>) -> Result<u64, LabError> {
        self.model.memory_bytes(&space(target)).map_err(|e| self.table.error(&e.key, &e.message))
    }

    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError> {
        target.refuse_pace("only jobs of a fio job file have shares; tenants have `rate`")?;
        if !target.until_volume {
            let reason = format!("the model {} never ends: give a volume", self.name);
            return Err(self.table.error("model", &reason));
        }
        let space = space(target);
        let memory_bytes = self.memory_bytes(target)?;
        let what = format!("the model {} on {}", self.name, target.device.name);
        refuse_if_short(what, memory_bytes, wafer_record::host::available_memory())?;
        let stream = self
            .model
            .start(&space, target.seed)
            .map_err(|e| self.table.error(&e.key, &e.message))?;
        Ok(Built {
            jobs: Vec::new(),
            stream,
            total_bytes: None,
            memory_bytes,
            ignored: Vec::new(),
            notices: Vec::new(),
        })
    }
}

/// Returns the namespaces of a device as models see them.
fn space(target: &SourceTarget<'_>) -> Space {
    let (config, geometry) = (&target.device.config, &target.device.geometry);
    let extents = geometry.namespace_bytes().into_iter().zip(&geometry.namespace_handles);
    let handles = |list: &Vec<u16>| config.fdp.then(|| list.len() as u16 * geometry.groups);
    Space {
        page_bytes: geometry.page_bytes,
        namespaces: extents.map(|(bytes, list)| Extent { bytes, handles: handles(list) }).collect(),
    }
}

/// Returns one table for each model: its keys beside `model`.
fn schema(generator: &mut SchemaGenerator) -> Vec<Schema> {
    let table = |info: &ModelInfo| {
        let name = json!({
            "description": "The application model.", "type": "string", "const": info.name,
        });
        let mut table =
            schemas::merged(schemas::table_with("model", name), &(info.schema)(generator));
        table.insert("description".to_owned(), info.summary.into());
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
    let model = table.read_by(info.make)?;
    let path = path.display().to_string();
    Ok(Workload::new(ModelSource { name: info.name, model, table: place, path }))
}

fn find(name: &str) -> Result<&'static ModelInfo, String> {
    let names: Vec<&str> = MODELS.iter().map(|m| m.name).collect();
    model::find(name).ok_or_else(|| format!("no model `{name}`{}", did_you_mean(name, &names)))
}

/// Returns all application models.
pub fn models() -> &'static [ModelInfo] {
    MODELS
}

/// Returns the application model of a name.
///
/// # Errors
/// There is no such model; the message suggests a similar name.
pub fn find_model(name: &str) -> Result<&'static ModelInfo, LabError> {
    find(name).map_err(|reason| LabError::argument("name", reason))
}
