//! Commands by the thousand, from a seed: enough for devices to collect and learn.

use wafer_device::DeviceConfig;
use wafer_interface::{Command, NsId, Placement};

use crate::configs::{BLOCKS, PAGE, Step, fill};
use crate::random::random;

/// A fill, then writes of `volume` times the capacity: single pages, most of them to a hot part, or runs of up to
/// `longest` times `grain` pages, in order or anywhere; a few are not whole pages. Now and then a run is deallocated or
/// a reclaim unit updated.
pub(crate) fn mixed(
    config: &DeviceConfig,
    volume: u64,
    (longest, grain): (u64, u64),
    mut seed: u64,
) -> Vec<Step> {
    let capacity = config.capacity.0 / PAGE;
    let sizes: Vec<u64> = match &config.namespaces[..] {
        [] => vec![capacity],
        list => list.iter().map(|namespace| namespace.size.0 / PAGE).collect(),
    };
    let mut steps: Vec<Step> = fill(config).collect();
    let (mut written, mut next) = (0, 0);
    while written < volume * capacity {
        let mut below = |bound: u64| random(&mut seed, bound);
        let number = below(sizes.len() as u64) as usize;
        let (namespace, pages) = (NsId(number as u8), sizes[number]);
        let run = (grain * (1 + below(longest))).min(pages);
        let anywhere = below((pages - run) / grain + 1) * grain;
        let placement = Placement(below(4) as u16);
        let write = |page: u64, pages: u64| {
            Command::write(page * BLOCKS, (pages * BLOCKS) as u32, placement)
        };
        let command = match below(32) {
            0 => {
                steps.push(Step::Update(namespace, placement));
                continue;
            }
            1..3 => Command::deallocate(anywhere * BLOCKS, (run * BLOCKS) as u32),
            3..6 => write(anywhere, run),
            6..10 => {
                next = if next + run > pages { 0 } else { next };
                next += run;
                write(next - run, run)
            }
            10..12 => Command::write(below(pages * BLOCKS - 300), 1 + below(300) as u32, placement),
            12..18 => write(below(pages), 1),
            _ => write(below(pages.div_ceil(8)), 1),
        };
        written += u64::from(command.blocks).div_ceil(BLOCKS);
        steps.push(Step::Command(command.on(namespace)));
    }
    steps
}
