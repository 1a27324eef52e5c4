//! `wafer config`

use anyhow::Context as _;
use wafer_config::load_device;
use wafer_record::text::escaped;

use crate::args::ConfigArgs;
use wafer_output as output;

pub(crate) fn run(args: &ConfigArgs, quiet: bool) -> anyhow::Result<()> {
    let device = load_device(&args.device.device, &args.device.set)?;
    output::notices(quiet, &device.notices);
    if args.json {
        return output::json(&device.config);
    }
    output::text(&escaped(toml::to_string(&device.config).context("cannot write TOML")?))
}
