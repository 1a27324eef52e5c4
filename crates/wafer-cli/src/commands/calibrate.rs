//! `wafer calibrate`

use std::path::Path;
use wafer_output as output;

use wafer_calibrate::{Calibration, Measured, Role, Task, Watch, calibrate};
use wafer_lab::LabError;
use wafer_record::{Outputs, write_text};

use crate::args::CalibrateArgs;
use crate::cancel::{CANCEL, cancel_on_ctrl_c};
use crate::errors::Interrupted;
use crate::progress::Steps;
use wafer_output::Table;

pub(crate) fn run(args: &CalibrateArgs, quiet: bool) -> anyhow::Result<()> {
    let to_stdout = output::is_stdout(&args.output);
    if args.json && to_stdout {
        return Err(LabError::config("--json", "stdout has the device of -o -").into());
    }
    let mut outputs = Outputs::default();
    let files = args.timing.iter().chain(&args.fio_json).chain(&args.predict);
    files.for_each(|path| outputs.input(path));
    outputs.input(Path::new(&args.device));
    outputs.output_or_stdout(&args.output)?;
    let measured = match &args.timing {
        Some(path) => Measured::csv(path)?,
        None => Measured::fio(&args.fio_json)?,
    };
    let predict = args.predict.as_deref().map(Measured::csv).transpose()?;
    let task = Task {
        device: args.device.clone(),
        measured,
        hold_out: args.hold_out,
        predict,
        seed: args.seed,
    };
    cancel_on_ctrl_c()?;
    let bar = Steps::new("fitting", quiet);
    let progress = |done: usize, all: usize| bar.update(done as u64, all as u64);
    let result = calibrate(&task, Watch { cancel: &CANCEL, progress: &progress });
    bar.finish();
    let fit = result.map_err(|error| match error {
        LabError::Cancelled => Interrupted.into(),
        error => anyhow::Error::from(error),
    })?;
    output::notices(quiet, &fit.notices);
    if to_stdout {
        return output::text(&fit.toml);
    }
    write_text(&args.output, &fit.toml)?;
    if args.json { output::json(&fit) } else { print(&fit) }
}

fn print(fit: &Calibration) -> anyhow::Result<()> {
    let mut out = output::styled();
    let mut table = Table::default()
        .text(["timing"])
        .numbers(["before", "after", "interval"])
        .text(["identified", "why"]);
    for parameter in &fit.parameters {
        let interval = parameter.interval.map(|(low, high)| format!("{low} to {high}"));
        table.row([
            parameter.key.to_owned(),
            parameter.before.to_string(),
            parameter.after.to_string(),
            interval.unwrap_or_default(),
            if parameter.identified { "yes" } else { "no" }.to_owned(),
            parameter.why.clone(),
        ]);
    }
    table.print(&mut out)?;
    use std::io::Write as _;
    writeln!(out)?;
    let mut table =
        Table::default().text(["row", "", "figure"]).numbers(["measured", "ours", "error"]);
    for row in &fit.rows {
        let role = match row.role {
            Role::Fitted => "fitted",
            Role::Saturated => "saturated",
            Role::Predicted => "predicted",
        };
        for figure in &row.figures {
            table.row([
                row.name.clone(),
                role.to_owned(),
                figure.name.clone(),
                format!("{:.0}", figure.measured),
                format!("{:.0}", figure.ours),
                format!("{:+.1} %", figure.error_percent),
            ]);
        }
    }
    table.print(&mut out)?;
    out.flush()?;
    Ok(())
}
