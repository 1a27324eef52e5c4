//! Placement schemes: add placement to commands.

use std::sync::Arc;

use wafer_device::Geometry;
use wafer_interface::{Command, Op, Placement};
use wafer_trace::PlaceMap;

use super::log::{Log, pages};
use super::oracle::DeathTimes;

pub(super) enum Scheme {
    /// All writes to the first handle.
    One,
    /// By address.
    Regions(Box<PlaceMap>),
    /// By label: the index of the log's labels, and the handle of each.
    Labels(usize, Vec<u16>),
    /// By the age of the overwritten page, in pages written; bounds of the classes. A page written for the
    /// first time goes to the last class.
    History(Vec<u64>),
    /// By remaining lifetime, in pages written; bounds of the classes.
    Oracle(Arc<DeathTimes>, Vec<u64>),
}

/// Applies a placement scheme.
pub(super) struct Placer<'a> {
    scheme: &'a Scheme,
    log: &'a Log,
    geometry: &'a Geometry,
    /// Time of each page's last write, for [`Scheme::History`]; 0 for never.
    born: Vec<u64>,
    clock: u64,
}

impl<'a> Placer<'a> {
    pub(super) fn new(scheme: &'a Scheme, log: &'a Log, geometry: &'a Geometry) -> Self {
        let keeps = matches!(scheme, Scheme::History(_));
        let born = if keeps { vec![0; geometry.logical_pages as usize] } else { Vec::new() };
        Placer { scheme, log, geometry, born, clock: 0 }
    }

    /// Appends command number `at` of the log, split into pieces with one placement each.
    pub(super) fn place(&mut self, at: usize, command: &Command, out: &mut Vec<Command>) {
        if command.op != Op::Write {
            out.push(*command);
            return;
        }
        match self.scheme {
            Scheme::One => out.push(*command),
            Scheme::Labels(number, handles) => {
                let label = self.log.labels[*number].of[at];
                out.push(Command { placement: Placement(handles[usize::from(label)]), ..*command });
            }
            Scheme::Regions(map) => {
                let (mut lba, end) = (command.lba, command.lba + u64::from(command.blocks));
                while lba < end {
                    let (placement, next) = map.at(command.namespace.0, lba);
                    let stop = next.min(end);
                    out.push(Command { lba, blocks: (stop - lba) as u32, placement, ..*command });
                    lba = stop;
                }
            }
            Scheme::History(bounds) => {
                let base =
                    self.geometry.namespaces.get(command.namespace.index()).map_or(0, |n| n.start);
                let (born, clock) = (&mut self.born, &mut self.clock);
                by_page(command, self.log.page_blocks, out, |page, _| {
                    let Some(birth) = born.get_mut((base + page) as usize) else { return 0 };
                    *clock += 1;
                    let class = match *birth {
                        0 => bounds.len(),
                        birth => bounds.partition_point(|b| *b <= *clock - birth),
                    };
                    *birth = *clock;
                    class as u16
                });
            }
            Scheme::Oracle(deaths, bounds) => {
                let first = deaths.first[at] as usize;
                by_page(command, self.log.page_blocks, out, |_, number| {
                    let life = u64::from(deaths.remaining[first + number]);
                    bounds.partition_point(|b| *b <= life) as u16
                });
            }
        }
    }
}

/// Splits a write where the class of its pages changes. `class` takes a page and its position in
/// the command.
fn by_page(
    command: &Command,
    page_blocks: u64,
    out: &mut Vec<Command>,
    mut class: impl FnMut(u64, usize) -> u16,
) {
    let end = command.lba + u64::from(command.blocks);
    let mut open: Option<Command> = None;
    for (number, page) in pages(command, page_blocks).enumerate() {
        let placement = Placement(class(page, number));
        let lba = (page * page_blocks).max(command.lba);
        let blocks = (((page + 1) * page_blocks).min(end) - lba) as u32;
        match &mut open {
            Some(piece) if piece.placement == placement => piece.blocks += blocks,
            _ => {
                out.extend(open.take());
                open = Some(Command { lba, blocks, placement, ..*command });
            }
        }
    }
    out.extend(open);
}
