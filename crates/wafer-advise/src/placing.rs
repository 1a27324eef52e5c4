//! Every way to place writes, as one: commands in, commands with placement out.

use std::sync::Arc;

use wafer_device::Geometry;
use wafer_interface::{Command, Op, Placement};
use wafer_trace::PlaceMap;

use super::lives::first_pages;
use super::log::{Log, pages};
use super::oracle::Deaths;

/// A way to place.
pub(super) enum Way {
    /// All on the first handle.
    One,
    /// By address.
    Regions(Box<PlaceMap>),
    /// By label: which of the log's, and the handle of each.
    Labels(usize, Vec<u16>),
    /// By the age of the page written over, in pages; bounds of the classes. A page written for the first
    /// time goes to the last.
    History(Vec<u64>),
    /// By remaining life, in pages; bounds of the classes.
    Oracle(Arc<Deaths>, Vec<u64>),
}

/// A way at work.
pub(super) struct Placer<'a> {
    way: &'a Way,
    log: &'a Log,
    /// First page of each namespace.
    first: Vec<u64>,
    /// Time of each page's last write, for the history; 0 is never.
    born: Vec<u64>,
    clock: u64,
}

impl<'a> Placer<'a> {
    pub(super) fn new(way: &'a Way, log: &'a Log, geometry: &Geometry) -> Self {
        let keeps = matches!(way, Way::History(_));
        let born = if keeps { vec![0; geometry.logical_pages as usize] } else { Vec::new() };
        Placer { way, log, first: first_pages(geometry), born, clock: 0 }
    }

    /// Appends the pieces that command number `at` of the log becomes.
    pub(super) fn place(&mut self, at: usize, command: &Command, out: &mut Vec<Command>) {
        if command.op != Op::Write {
            out.push(*command);
            return;
        }
        match self.way {
            Way::One => out.push(*command),
            Way::Labels(number, handles) => {
                let label = self.log.labels[*number].of[at];
                out.push(Command { placement: Placement(handles[usize::from(label)]), ..*command });
            }
            Way::Regions(map) => {
                let (mut lba, end) = (command.lba, command.lba + u64::from(command.blocks));
                while lba < end {
                    let (placement, next) = map.at(command.namespace.0, lba);
                    let stop = next.min(end);
                    out.push(Command { lba, blocks: (stop - lba) as u32, placement, ..*command });
                    lba = stop;
                }
            }
            Way::History(bounds) => {
                let base = self.first.get(command.namespace.index()).copied().unwrap_or(0);
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
            Way::Oracle(deaths, bounds) => {
                let first = deaths.first[at] as usize;
                by_page(command, self.log.page_blocks, out, |_, number| {
                    let life = u64::from(deaths.remaining[first + number]);
                    bounds.partition_point(|b| *b <= life) as u16
                });
            }
        }
    }
}

/// Cuts a write where the class of its pages changes. `class` gets each page and its number in the
/// command.
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
