//! Formats numbers for people.

/// Formats bytes in the spelling of configurations if that is short, else rounded.
pub fn exact(bytes: u64) -> String {
    let text = wafer_interface::Bytes(bytes).to_string();
    if text.len() <= 8 { text } else { wafer_record::text::bytes(bytes) }
}

/// Formats a share of 1 as a percentage.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Formats a WAF, or a dash if there is none.
pub fn waf(waf: Option<f64>) -> String {
    waf.map_or("-".to_owned(), |waf| format!("{waf:.3}"))
}

/// Formats a duration in a suitable unit.
pub fn seconds(seconds: f64) -> String {
    // The sum of no times is -0.
    match seconds + 0.0 {
        s if s < 0.995 => format!("{:.0} ms", s * 1e3),
        s if s < 99.5 => format!("{s:.1} s"),
        s if s < 5970.0 => format!("{:.0} min", s / 60.0),
        s if s < 47.5 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let shown: Vec<String> = [0.01, 31.0, 600.0, 7200.0, 864_000.0].map(seconds).to_vec();
        assert_eq!(shown, ["10 ms", "31.0 s", "10 min", "2.0 h", "10.0 days"]);
    }
}
