//! Bytes stay the master: a clock changes no counter.

use wafer_device::Device;
use wafer_device::policy::POLICIES;
use wafer_interface::{Command, Placement, stream};
use wafer_record::Recorder;

use super::TimedRun;
use crate::drive::Watch;
use crate::{Control, Experiment, FioSource, Options, Workload};

const DEVICE: &str = r#"
capacity = "64MiB"
handles = 4
overprovisioning = 0.25
[reclaim_unit]
size = "1MiB"
[timing]
dies = 4
read_us = [40, 60, 80]
program_us = 700.0
slice_us = 100.0
link_read = "7000MB"
link_write = "7000MB"
read_overhead_us = 5.0
write_overhead_us = 5.0
write_buffer = "2MiB"
"#;

fn commands(count: u64) -> Vec<Command> {
    let mut state = 7u64;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let page = (state >> 33) % 16_384;
            match state >> 60 {
                0 => Command::deallocate(page * 8, 64),
                1..4 => Command {
                    op: wafer_interface::Op::Read,
                    ..Command::write(page * 8, 32, Placement::NONE)
                },
                _ => Command::write(page * 8, 8, Placement((state >> 58) as u16 % 4)),
            }
        })
        .collect()
}

#[test]
fn a_clock_changes_no_counter_of_any_policy() {
    let commands = commands(60_000);
    for policy in POLICIES {
        let set = format!("gc.policy={}", policy.name);
        let device = crate::device_from_text("small.toml", DEVICE, &[set]).unwrap();
        let mut plain = Device::new(&device.config, 3).unwrap();
        plain.apply(&commands);

        let watch = Watch::<false, true>::default();
        let mut timed = Device::with_observer(&device.config, 3, watch).unwrap();
        timed.observer_mut().wants_work = true;
        let mut list = commands.clone().into_iter();
        let mut stream = stream::from_fn(move |out, max| out.extend(list.by_ref().take(max)));
        let mut recorder = Recorder::new(100, None);
        let timing = device.config.timing.as_ref().unwrap();
        let mut run = TimedRun::new(&mut timed, &mut stream, timing, &[], None).unwrap();
        run.run(&mut recorder, |_| Ok(())).unwrap();
        let record = run.record(timing);

        assert_eq!(timed.counters(), plain.counters(), "{}", policy.name);
        assert_eq!(timed.handle_counters(), plain.handle_counters(), "{}", policy.name);
        let shares: f64 = record.dies.values().sum();
        assert!((shares - 1.0).abs() < 1e-3, "{}: {shares}", policy.name);
        let requests = record.read.unwrap().count + record.write.unwrap().count;
        let moved = commands.iter().filter(|c| c.op != wafer_interface::Op::Deallocate).count();
        assert_eq!(requests, moved as u64);
    }
}

/// Commands end exactly at the volume, with others of the queue still to be submitted or none.
#[test]
fn a_closed_loop_ends_at_its_volume() {
    for (depth, volume) in [(1, "32MiB"), (16, "32MiB"), (32, "2x")] {
        let device = crate::device_from_text("small.toml", DEVICE, &[]).unwrap();
        let text = format!("[w]\nrw=randwrite\nbs=128k\niodepth={depth}\nloops=9\n");
        let workload = Workload::new(FioSource { path: "none".into(), text });
        let options =
            Options { volume: Some(volume.parse().unwrap()), timed: true, ..Options::default() };
        let experiment = Experiment::of(device, workload, &options);
        let record = crate::run(&experiment, Control::unattended()).unwrap();
        assert_eq!(Some(record.summary.host_bytes), experiment.volume_bytes());
    }
}
