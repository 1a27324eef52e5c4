//! Numbers in sentences and tables.

/// Formats bytes with three digits and a decimal unit.
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            return rounded(value, unit);
        }
        value /= 1000.0;
    }
    rounded(value, "PB")
}

fn rounded(value: f64, unit: &str) -> String {
    let decimals = match value {
        _ if unit == "B" => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

/// Formats a share as percent, with a decimal below 10 %.
pub(crate) fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0995 {
        format!("{:.1} %", 100.0 * share)
    } else {
        format!("{:.0} %", 100.0 * share)
    }
}

/// Returns `part / of`; 0 where there is nothing.
pub(crate) fn ratio(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let shown: Vec<String> =
            [0, 999, 1000, 12_345, 999_499, 999_500, 12_025_908_428_800].map(bytes).to_vec();
        assert_eq!(shown, ["0 B", "999 B", "1.00 kB", "12.3 kB", "999 kB", "1.00 MB", "12.0 TB"]);
        assert_eq!([0.0, 0.014, 0.5].map(percent), ["0 %", "1.4 %", "50 %"]);
    }
}
