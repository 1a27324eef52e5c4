//! Where traces and other data are.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// Folder with traces and other data. They are also looked for in the folder WAFER_DATA and in
    /// `data` of the current directory, of a configuration's folder or of a parent of either.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,
}
