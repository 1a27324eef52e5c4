//! `wafer config`

use anyhow::Context as _;
use wafer_lab::load_device;

use crate::args::ConfigArgs;
use crate::output;

pub(crate) fn run(args: &ConfigArgs, quiet: bool) -> anyhow::Result<()> {
    let device = load_device(&args.device.device, &args.device.set)?;
    output::notices(quiet, &device.notices);
    if args.json {
        return output::json(&device.config);
    }
    output::text(&toml::to_string(&device.config).context("cannot write TOML")?)
}
