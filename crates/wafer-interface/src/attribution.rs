//! Attribution: which handle's writes cause relocations of which handle's data.

/// The totals of attribution, in pages unless a field says otherwise. Rows and columns are handles by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// `relocated[i][j]`: relocated pages of origin `j` that invalidations by `i` caused.
    pub relocated: Vec<Vec<u64>>,
    /// `demanded[i][j]`: relocated pages of origin `j` in collections that a write through `i` triggered.
    pub demanded: Vec<Vec<u64>>,
    /// `invalidated[i][o]`: pages that `i` invalidated in reclaim units of owner `o` collected so far. An owner is a
    /// handle or, in the last column, relocated data of several.
    pub invalidated: Vec<Vec<u64>>,
    /// Collections by owner, in the same order.
    pub collected: Vec<Collected>,
    /// Logical blocks of commands that began where the last command of the same handle ended.
    pub sequential: Vec<u64>,
}

/// Collections of the reclaim units of one owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Reclaim units.
    pub units: u64,
    /// Reclaim units without a valid page: all their data was invalidated.
    pub empty: u64,
    /// Valid pages relocated.
    pub valid: u64,
}

impl Attribution {
    /// Creates zero totals for a device with `handles` handles.
    pub fn new(handles: usize) -> Self {
        let square = vec![vec![0; handles]; handles];
        Attribution {
            relocated: square.clone(),
            demanded: square,
            invalidated: vec![vec![0; handles + 1]; handles],
            collected: vec![Collected::default(); handles + 1],
            sequential: vec![0; handles],
        }
    }
}
