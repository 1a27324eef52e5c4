//! Lifetime, drive writes per day, cost and carbon of a drive under a workload with a given WAF.
//!
//! Flash wears with *media* writes. A drive rated for a number of host bytes (TBW) was rated at some WAF, so it endures
//! `tbw * rated_waf` bytes of media writes, and lasts until the workload has caused them.

use std::fmt;

use crate::RecordError;

const DAYS_PER_YEAR: f64 = 365.25;

/// A default value with its unit, the range of published figures, and their source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    /// Name, which is that of the field of [`Drive`].
    pub name: &'static str,
    /// Default.
    pub value: f64,
    /// Lowest published figure.
    pub low: f64,
    /// Highest published figure.
    pub high: f64,
    /// Unit.
    pub unit: &'static str,
    /// Publications.
    pub source: &'static str,
}

/// Defaults of [`Drive`]. None of them is a property of the device model.
pub const CONSTANTS: [Constant; 4] = [EMBODIED_CARBON, GRID_INTENSITY, WARRANTY_YEARS, RATED_WAF];

const EMBODIED_CARBON: Constant = Constant {
    name: "embodied_carbon",
    value: 0.16,
    low: 0.0029,
    high: 0.16,
    unit: "kg CO2e per GB (decimal) of capacity, manufacturing",
    source: "value and high: Tannu and Nair, The Dirty Secret of SSDs: Embodied Carbon, HotCarbon 2022, \
             arXiv 2207.10793, from 94 life cycle assessments. Low: the manufacturer's figure for a 15 TB \
             Seagate Nytro 3332 of 2021, 2.91 kg CO2e per TB, as quoted by Pure Storage, 12 May 2025. \
             The two differ by a factor of 55 and are disputed: give your drive's own",
};

const GRID_INTENSITY: Constant = Constant {
    name: "grid_intensity",
    value: 0.445,
    low: 0.400,
    high: 0.445,
    unit: "kg CO2 per kWh",
    source: "IEA, Electricity 2025, chapter Emissions: world average of 2024, 445 g per kWh (high: the \
             same; low: its forecast for 2027). Single grids differ: give yours",
};

const WARRANTY_YEARS: Constant = Constant {
    name: "warranty_years",
    value: 5.0,
    low: 3.0,
    high: 5.0,
    unit: "years",
    source: "TBW = DWPD x capacity x 365.25 x this. Blocks and Files, DWPD, 24 April 2022: typically 5 \
             years, could be shorter; low: the 3 years of the SK hynix PE3100 in Tom's Hardware's review \
             of the Intel DC P3520",
};

const RATED_WAF: Constant = Constant {
    name: "rated_waf",
    value: 3.0,
    low: 2.4,
    high: 3.95,
    unit: "media bytes per host byte",
    source: "assumption: data sheets rate TBW under JESD219, or under random 4 KiB writes (HPE), and give \
             no WAF. Low: closed form for random writes, over-provisioning 28 % (Desnoyers, TOS 2014). \
             High: measured under JESD219A, 512 B variant, on a conventional 8 TB drive (the study \
             `namespaces`)",
};

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Constant { value, low, high, unit, source, .. } = self;
        write!(f, "{value} ({low} to {high}) {unit}: {source}")
    }
}

/// Rated endurance of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rating {
    /// Drive writes per day over the warranty.
    Dwpd(f64),
    /// Host bytes written over the life of the drive, TB (decimal).
    Tbw(f64),
    /// Program/erase cycles of a number of bytes of flash.
    Cycles {
        /// Cycles of each block.
        cycles: u32,
        /// Bytes of flash, including spare space.
        flash_bytes: u64,
    },
}

/// The data sheet of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    /// Capacity, bytes.
    pub bytes: u64,
    /// Rated endurance.
    pub rating: Rating,
    /// WAF that the rating assumes, at least 1.
    pub rated_waf: f64,
    /// Years of warranty.
    pub warranty_years: f64,
    /// Price, in any currency.
    pub price: Option<f64>,
    /// Mean electrical power; 0 omits operational carbon.
    pub watts: f64,
    /// Carbon of manufacturing, kg CO2e per GB (decimal) of capacity.
    pub embodied_carbon: f64,
    /// Carbon of electricity, kg CO2 per kWh.
    pub grid_intensity: f64,
    /// Years after which the drive is replaced, worn out or not; bounds cost and carbon.
    pub longest_life: Option<f64>,
}

/// Endurance of a drive under one workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Life {
    /// Years until the rated media writes are used up.
    pub years: f64,
    /// Host writes in drive capacities per day.
    pub dwpd: f64,
    /// Host bytes over the life of the drive at this WAF, TB (decimal).
    pub tbw: f64,
    /// Drive writes per day that would use up the rating within the warranty.
    pub dwpd_over_warranty: f64,
    /// Price divided by the years in use; `None` without a price.
    pub cost_per_year: Option<f64>,
    /// Embodied carbon divided by the years in use, plus that of electricity, kg CO2e per year.
    pub carbon_per_year: f64,
}

impl Drive {
    /// Returns a drive with the [`CONSTANTS`], without price, power or replacement.
    pub fn new(bytes: u64, rating: Rating) -> Self {
        Drive {
            bytes,
            rating,
            rated_waf: RATED_WAF.value,
            warranty_years: WARRANTY_YEARS.value,
            price: None,
            watts: 0.0,
            embodied_carbon: EMBODIED_CARBON.value,
            grid_intensity: GRID_INTENSITY.value,
            longest_life: None,
        }
    }

    /// Returns a drive of the device model with `flash_bytes` of flash, rated for `pe_cycles` or, without them, for one
    /// drive write per day, as read-intensive data center drives are.
    pub fn of_device(bytes: u64, flash_bytes: u64, pe_cycles: Option<u32>) -> Self {
        let rating = pe_cycles.map(|cycles| Rating::Cycles { cycles, flash_bytes });
        Drive::new(bytes, rating.unwrap_or(Rating::Dwpd(1.0)))
    }

    /// Checks for values that a data sheet cannot have.
    ///
    /// # Errors
    /// The drive is empty, `rated_waf` is below 1, a rating or a time is not above 0, or another value is below 0.
    pub fn check(&self) -> Result<(), RecordError> {
        if self.rated_waf.is_nan() || self.rated_waf < 1.0 {
            return Err(RecordError::input("rated_waf", format!("{} is below 1", self.rated_waf)));
        }
        if self.bytes == 0 {
            return Err(RecordError::input("capacity", "0 bytes"));
        }
        let rating = match self.rating {
            Rating::Dwpd(dwpd) => Some(("dwpd", dwpd)),
            Rating::Tbw(tbw) => Some(("tbw", tbw)),
            Rating::Cycles { .. } => None,
        };
        let longest = self.longest_life.map(|years| ("longest_life", years));
        let above = [rating, longest, Some(("warranty_years", self.warranty_years))];
        let least = [
            ("price", self.price.unwrap_or(0.0)),
            ("watts", self.watts),
            ("embodied_carbon", self.embodied_carbon),
            ("grid_intensity", self.grid_intensity),
        ];
        let wrong = |name, value: f64, what| {
            Err(RecordError::input(name, format!("{value} is not {what}")))
        };
        let mut above = above.into_iter().flatten();
        if let Some((name, value)) = above.find(|(_, value)| !value.is_finite() || *value <= 0.0) {
            return wrong(name, value, "a number above 0");
        }
        match least.into_iter().find(|(_, value)| !value.is_finite() || *value < 0.0) {
            Some((name, value)) => wrong(name, value, "a number, 0 or more"),
            None => Ok(()),
        }
    }

    /// Returns the bytes of media writes that the rating allows.
    pub fn media_bytes(&self) -> f64 {
        match self.rating {
            Rating::Tbw(tbw) => tbw * 1e12 * self.rated_waf,
            Rating::Cycles { cycles, flash_bytes } => f64::from(cycles) * flash_bytes as f64,
            Rating::Dwpd(dwpd) => {
                dwpd * self.bytes as f64 * self.warranty_years * DAYS_PER_YEAR * self.rated_waf
            }
        }
    }

    /// Returns the endurance under a workload with this WAF and these host writes, in bytes per day.
    ///
    /// # Errors
    /// The drive does not pass [`Drive::check`], the WAF is not above 0, or nothing is written.
    pub fn life(&self, waf: f64, host_bytes_per_day: f64) -> Result<Life, RecordError> {
        self.check()?;
        // A write buffer absorbs overwrites, which makes a WAF below 1 possible.
        if !(waf > 0.0 && waf.is_finite() && host_bytes_per_day > 0.0) {
            let reason = "expected a WAF above 0 and more than 0 host bytes per day";
            return Err(RecordError::input("life", reason));
        }
        let capacity = self.bytes as f64;
        let host_bytes = self.media_bytes() / waf;
        let years = host_bytes / host_bytes_per_day / DAYS_PER_YEAR;
        let used = self.longest_life.map_or(years, |longest| years.min(longest));
        let embodied = self.embodied_carbon * capacity / 1e9 / used;
        let power = self.watts / 1000.0 * 24.0 * DAYS_PER_YEAR * self.grid_intensity;
        Ok(Life {
            years,
            dwpd: host_bytes_per_day / capacity,
            tbw: host_bytes / 1e12,
            dwpd_over_warranty: host_bytes / (capacity * self.warranty_years * DAYS_PER_YEAR),
            cost_per_year: self.price.map(|price| price / used),
            carbon_per_year: embodied + power,
        })
    }
}

#[cfg(test)]
mod tests;
