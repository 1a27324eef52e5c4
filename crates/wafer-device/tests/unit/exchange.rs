//! Segments of many pages: every run is also a run of a page-mapped device.
//!
//! A [`Follower`] keeps a definite place for every page. When the device draws which page of a divided segment was in
//! which reclaim unit, the follower exchanges two pages of that segment, which nothing observable had distinguished. If
//! there is no page to exchange with, or a count ever differs from the number of pages placed there, no page-mapped
//! device could have done the same.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::configs::{Tiny, tiny};
use crate::flash::mapping::{Label, UNMAPPED};
use crate::flash::segment::Decision;
use wafer_interface::*;

use crate::*;

struct Follower {
    /// The reclaim unit of each mapped page.
    place: Vec<Option<u32>>,
    labels: Vec<Label>,
}

impl Follower {
    fn new(device: &Device) -> Self {
        let labels = device.map.as_slice().to_vec();
        Follower { place: vec![None; labels.len()], labels }
    }

    /// Follows a step that affected at most one page: `page` was written or, with `None`, nothing.
    fn follow(&mut self, device: &mut Device, page: Option<usize>) -> Result<(), String> {
        let log = std::mem::take(&mut device.segments.log);
        let mut named: BTreeMap<Label, Vec<u32>> = BTreeMap::new();
        for decision in log {
            match decision {
                Decision::Drawn { label, ru } => {
                    self.exchange(page.ok_or("drawn for nothing")?, label, ru)?;
                }
                Decision::Moved { label, from, to, count } => {
                    self.relocate(label, from, to, count)?
                }
                Decision::Named { label, ru } => named.entry(label).or_default().push(ru),
                Decision::Merged(labels) => {
                    self.name_all(std::mem::take(&mut named))?;
                    self.labels = labels;
                }
                Decision::Written { label, ru } => {
                    let page = page.ok_or("written for nothing")?;
                    self.labels[page] = label;
                    self.place[page] = (label != UNMAPPED).then_some(ru);
                }
            }
        }
        if self.labels != device.map.as_slice() {
            return Err("labels differ from the map".to_owned());
        }
        self.check(device)
    }

    /// Places `page` in `ru`, by exchange with another page of its label if necessary.
    fn exchange(&mut self, page: usize, label: Label, ru: u32) -> Result<(), String> {
        if self.labels[page] != label {
            return Err(format!("page {page} is of {}, not {label}", self.labels[page]));
        }
        if self.place[page] == Some(ru) {
            return Ok(());
        }
        let other = (0..self.place.len())
            .find(|q| self.labels[*q] == label && self.place[*q] == Some(ru))
            .ok_or_else(|| format!("no page of {label} in {ru} to exchange {page} with"))?;
        self.place.swap(page, other);
        Ok(())
    }

    fn relocate(&mut self, label: Label, from: u32, to: u32, count: u32) -> Result<(), String> {
        for _ in 0..count {
            let moved = (0..self.place.len())
                .find(|q| self.labels[*q] == label && self.place[*q] == Some(from))
                .ok_or_else(|| format!("no page of {label} left in {from}"))?;
            self.place[moved] = Some(to);
        }
        Ok(())
    }

    /// Follows a merge, which gave every page of a divided label a part. The numbers for each reclaim unit must be
    /// those of the pages placed there; the pages themselves are exchanged.
    fn name_all(&mut self, named: BTreeMap<Label, Vec<u32>>) -> Result<(), String> {
        for (label, rus) in named {
            let pages: Vec<usize> =
                (0..self.labels.len()).filter(|q| self.labels[*q] == label).collect();
            let mut before: Vec<_> = pages.iter().filter_map(|q| self.place[*q]).collect();
            let mut after = rus.clone();
            before.sort_unstable();
            after.sort_unstable();
            if before != after {
                return Err(format!(
                    "merging spread {label} over {after:?}, pages were in {before:?}"
                ));
            }
            for (page, ru) in pages.into_iter().zip(rus) {
                self.place[page] = Some(ru);
            }
        }
        Ok(())
    }

    fn check(&self, device: &Device) -> Result<(), String> {
        for ru in (0..device.geometry().ru_count).map(RuId) {
            let placed = self.place.iter().filter(|p| **p == Some(ru.0)).count() as u32;
            if placed != device.valid_pages(ru) {
                return Err(format!(
                    "{ru}: {placed} pages placed, {} counted",
                    device.valid_pages(ru)
                ));
            }
        }
        Ok(())
    }
}

/// Returns the pages that a command writes or unmaps, as commands of one page each.
fn single_pages(device: &Device, command: &Command) -> Vec<(Command, usize)> {
    let Some(range) = device.geometry().namespaces.get(usize::from(command.namespace.0)) else {
        return Vec::new();
    };
    let per_page = device.geometry().blocks_per_page();
    let first = command.lba / per_page;
    let last =
        (command.lba + u64::from(command.blocks)).div_ceil(per_page).min(range.end - range.start);
    (first..last)
        .map(|p| {
            let one = Command { lba: p * per_page, blocks: per_page as u32, ..*command };
            (one, (range.start + p) as usize)
        })
        .collect()
}

fn is_a_page_mapped_run(
    case: &Tiny,
    segment_pages: u32,
    merge_often: bool,
) -> Result<(), TestCaseError> {
    let mut device = Device::new(&case.config, case.seed).unwrap();
    device.geometry.segment_pages = segment_pages;
    device.segment_limit = device.geometry.segment_limit();
    let mut follower = Follower::new(&device);
    for (at, step) in case.steps.iter().enumerate() {
        let singles = match step.op {
            Op::Write | Op::Deallocate => single_pages(&device, step),
            Op::Read | Op::Flush => continue,
            Op::Update => {
                device.apply(&[*step]);
                follower
                    .follow(&mut device, None)
                    .map_err(|e| TestCaseError::fail(format!("step {at}: {e}")))?;
                continue;
            }
        };
        for (command, page) in singles {
            device.apply(&[command]);
            follower
                .follow(&mut device, Some(page))
                .map_err(|e| TestCaseError::fail(format!("step {at}: {e}")))?;
        }
        if merge_often && at % 7 == 0 {
            device.merge_segments();
            follower
                .follow(&mut device, None)
                .map_err(|e| TestCaseError::fail(format!("merge {at}: {e}")))?;
        }
    }
    prop_assert_eq!(device.check_invariants(), Ok(()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_run_is_a_page_mapped_run(
        case in tiny(16..80u64, 120),
        segment_pages in 2..20u32,
        merge_often in any::<bool>(),
    ) {
        is_a_page_mapped_run(&case, segment_pages, merge_often)?;
    }
}
