//! All candidates as arrays.

use wafer_interface::{Features, OWNER_GC, Owner, RuId};

use super::interface::RuView;
use crate::units::Seen;

impl RuView<'_> {
    /// Fills `features` with all candidates, dropping its contents but reusing its memory. Takes one pass over
    /// the group's reclaim units.
    pub fn features(&mut self, features: &mut Features) {
        features.clear();
        features.handles = self.handles;
        self.rus.seen.resize(self.rus.units.len(), Seen::default());
        for index in self.range.clone() {
            let ru = RuId(index);
            let Some(valid) = self.valid(ru) else { continue };
            let unit = &self.rus.units[ru.index()];
            let (closed, order) = (self.rus.closed_at[ru.index()], self.closed_order(ru) + 1);
            let seen = &mut self.rus.seen[ru.index()];
            if seen.order != order {
                *seen = Seen { order, valid, at: closed };
            } else if seen.valid != valid {
                *seen = Seen { order, valid, at: self.now };
            }
            features.ru.push(index);
            features.valid.push(valid);
            features.age.push(self.now - closed);
            features.since_invalidation.push(self.now - seen.at);
            features.generation.push(unit.generation);
            features.erases.push(unit.erases);
            let start = features.origins.len();
            features.origins.resize(start + self.handles, 0.0);
            let row = &mut features.origins[start..];
            match unit.owner {
                Owner::Handle(handle) => {
                    features.owner.push(handle.0);
                    row[handle.index()] = 1.0;
                }
                Owner::Gc => {
                    features.owner.push(OWNER_GC);
                    let sum: f64 = unit.origins.iter().sum();
                    for (share, pages) in row.iter_mut().zip(&unit.origins) {
                        *share = (pages / sum) as f32;
                    }
                }
            }
        }
    }
}
