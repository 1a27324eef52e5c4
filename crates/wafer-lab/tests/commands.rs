//! Commands in memory run once, or repeatedly until the volume is reached.

use wafer_config::device_from_text;
use wafer_interface::{Command, Placement};
use wafer_lab::{CommandsSource, Control, Experiment, Options, Workload, run};
use wafer_record::Record;

fn written(repeat: bool, volume: Option<&str>) -> Record {
    let text = "capacity = \"16MiB\"\noverprovisioning = 1.0\nhandles = 2\n\
                [reclaim_unit]\nsize = \"1MiB\"\n";
    let device = device_from_text("small", text, &[]).unwrap();
    let commands = (0..16).map(|mib| Command::write(mib * 2048, 2048, Placement(0))).collect();
    let source = CommandsSource { name: "arrays".into(), commands, identifiers: false, repeat };
    let volume = volume.map(|text| text.parse().unwrap());
    let options = Options { volume, ..Options::default() };
    let experiment = Experiment::of(device, Workload::new(source), &options);
    run(&experiment, Control::unattended()).unwrap()
}

#[test]
fn once_without_a_volume_and_again_until_it() {
    let once = written(true, None);
    assert_eq!(once.summary.host_bytes, 16 << 20);
    let again = written(true, Some("5x"));
    assert_eq!((again.summary.host_bytes, again.summary.waf), (80 << 20, 1.0));
    let ends = written(false, Some("5x"));
    assert_eq!(ends.summary.host_bytes, 16 << 20);
    assert_eq!(ends.provenance.workload.as_ref().unwrap().kind, "commands");
}
