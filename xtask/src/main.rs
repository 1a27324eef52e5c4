//! Writes and checks the files generated from types: `cargo xtask docs`, `schema`, `check`.
//!
//! To add a generated file, write a function that returns its text, and add it with its path to
//! [`generated`].

mod configuration;
mod python_keys;
mod support;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Parser, Subcommand};
use wafer_config::device_schema;
use wafer_lab::experiment_schema;

#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Clone, Copy, Subcommand)]
enum Task {
    /// Write all generated files.
    Docs,
    /// Print the JSON Schema of experiment files.
    Schema,
    /// Fail if a generated file is not current.
    Check,
}

/// A generated file: its path in the repository, and its text.
struct Generated {
    path: &'static str,
    text: String,
}

/// Returns all generated files.
fn generated() -> Vec<Generated> {
    let file = |path, text| Generated { path, text };
    vec![
        file("docs/reference/configuration.md", configuration::page()),
        file(
            "docs/reference/nvme-support.inc.md",
            support::page(&wafer_controller::support(wafer_io::SUPPORTED)),
        ),
        file("docs/reference/schema/config.json", json(&experiment_schema())),
        file("docs/reference/schema/device.json", json(&device_schema())),
        file("docs/reference/schema/record.json", json(wafer_record::schema().as_value())),
        file("docs/reference/schema/reproduce.json", json(&wafer_studies::reproduce::schema())),
        file("python/wafer/_keys.py", python_keys::module()),
    ]
}

fn json(schema: &serde_json::Value) -> String {
    format!("{schema:#}\n")
}

fn main() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the repository")?;
    match Cli::parse().task {
        Task::Docs => write(root),
        Task::Check => check(root),
        Task::Schema => {
            print!("{}", json(&experiment_schema()));
            Ok(())
        }
    }
}

fn write(root: &Path) -> anyhow::Result<()> {
    for file in generated() {
        let path = root.join(file.path);
        let folder = path.parent().context("a folder")?;
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        if std::fs::read_to_string(&path).ok().as_deref() != Some(&file.text) {
            std::fs::write(&path, file.text).with_context(|| path.display().to_string())?;
            println!("wrote {}", file.path);
        }
    }
    Ok(())
}

fn check(root: &Path) -> anyhow::Result<()> {
    match stale(root).as_slice() {
        [] => Ok(()),
        stale => bail!("not current, run `make docs` and commit: {}", stale.join(", ")),
    }
}

/// Returns the files that are not current, each with its first different line.
fn stale(root: &Path) -> Vec<String> {
    let differs = |file: &Generated| {
        let path: PathBuf = root.join(file.path);
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        if committed == file.text {
            return None;
        }
        let lines = committed.lines().zip(file.text.lines());
        let line = lines.take_while(|(old, new)| old == new).count() + 1;
        Some(format!("{}:{line}", file.path))
    };
    generated().iter().filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_current() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(stale(root), Vec::<String>::new(), "run `make docs` and commit");
    }

    #[test]
    fn a_stale_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        assert_eq!(stale(folder.path()), Vec::<String>::new());
        let path = folder.path().join("python/wafer/_keys.py");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen('\n', "\nx\n", 1)).unwrap();
        assert_eq!(stale(folder.path()), ["python/wafer/_keys.py:2"]);
        assert!(check(folder.path()).is_err());
    }
}
