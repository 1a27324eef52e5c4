//! Attribution in the result record: which handle's writes cause relocations of which handle's data. See
//! [`wafer_device::Attribution`] for the rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_device::{Collected, Device};
use wafer_interface::{LBA_BYTES, Observer};

/// Attribution of a run, in bytes, excluding preconditioning. Rows and columns are in the order of `handles`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttributionRecord {
    /// Handles that hosts wrote through, whose data was relocated or that own collected reclaim units.
    pub handles: Vec<String>,
    /// Host bytes of each handle.
    pub host_bytes: Vec<u64>,
    /// Of those, bytes of commands that began where the last command of the same handle ended.
    pub sequential_bytes: Vec<u64>,
    /// Row `i`, column `j`: relocated bytes written through `j`, because `i` invalidated pages of the victims. All
    /// entries add up to all relocated bytes.
    pub relocated_bytes: Vec<Vec<u64>>,
    /// Row `i`, column `j`: relocated bytes written through `j`, in collections that a write through `i` triggered.
    pub demanded_bytes: Vec<Vec<u64>>,
    /// Owners of reclaim units: the handles, then `gc` for the relocated data of several handles.
    pub owners: Vec<String>,
    /// Row `i`, column `o`: bytes that writes through `i` invalidated in collected reclaim units of owner `o`.
    pub invalidated_bytes: Vec<Vec<u64>>,
    /// Collections by owner.
    pub collected: Vec<CollectedRecord>,
}

/// Collections of the reclaim units of one owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CollectedRecord {
    /// Reclaim units.
    pub reclaim_units: u64,
    /// Reclaim units without a valid page among them: hosts had invalidated all their data.
    pub empty: u64,
    /// Bytes relocated out of them.
    pub relocated_bytes: u64,
}

impl AttributionRecord {
    /// Returns the attribution of a device; `None` if it does not record it.
    pub fn of(device: &Device<impl Observer>) -> Option<Self> {
        let totals = device.attribution()?;
        let page = device.geometry().page_bytes;
        let host = device.handle_counters();
        let used: Vec<usize> = (0..host.len())
            .filter(|h| {
                let tables = [&totals.relocated, &totals.demanded];
                let moved = |t: &&Vec<Vec<u64>>| t.iter().any(|row| row[*h] > 0);
                let caused = |t: &&Vec<Vec<u64>>| t[*h].iter().any(|pages| *pages > 0);
                // A handle without host writes may own reclaim units of relocated data.
                let owned = totals.collected[*h].units > 0;
                host[*h].host_bytes > 0 || owned || tables.iter().any(|t| moved(t) || caused(t))
            })
            .collect();
        let gc = host.len();
        let owners: Vec<usize> =
            used.iter().copied().chain((totals.collected[gc].units > 0).then_some(gc)).collect();
        let name = |o: &usize| if *o == gc { "gc".to_owned() } else { o.to_string() };
        let bytes = |table: &[Vec<u64>], columns: &[usize]| -> Vec<Vec<u64>> {
            let row = |i: &usize| columns.iter().map(|j| table[*i][*j] * page).collect();
            used.iter().map(row).collect()
        };
        let collected = |c: &Collected| CollectedRecord {
            reclaim_units: c.units,
            empty: c.empty,
            relocated_bytes: c.valid * page,
        };
        Some(AttributionRecord {
            handles: used.iter().map(name).collect(),
            host_bytes: used.iter().map(|h| host[*h].host_bytes).collect(),
            sequential_bytes: used.iter().map(|h| totals.sequential[*h] * LBA_BYTES).collect(),
            relocated_bytes: bytes(&totals.relocated, &used),
            demanded_bytes: bytes(&totals.demanded, &used),
            invalidated_bytes: bytes(&totals.invalidated, &owners),
            collected: owners.iter().map(|o| collected(&totals.collected[*o])).collect(),
            owners: owners.iter().map(name).collect(),
        })
    }
}
