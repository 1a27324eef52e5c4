use super::*;

const BYTES: u64 = 3_840_000_000_000;

fn close(ours: f64, expected: f64) {
    assert!((ours / expected - 1.0).abs() < 1e-6, "{ours}, expected {expected}");
}

#[test]
fn life_follows_the_media_writes() {
    let drive = Drive {
        price: Some(400.0),
        longest_life: Some(10.0),
        ..Drive::new(BYTES, Rating::Dwpd(1.0))
    };
    let rated = drive.life(drive.rated_waf, 3.84e12).unwrap();
    close(rated.years, 5.0);
    close(rated.dwpd, 1.0);
    close(rated.dwpd_over_warranty, 1.0);
    close(rated.tbw, 3.84 * 5.0 * 365.25);
    close(rated.carbon_per_year, 0.16 * 3840.0 / 5.0);
    let better = drive.life(drive.rated_waf / 2.0, 3.84e12).unwrap();
    close(better.years, 10.0);
    close(better.cost_per_year.unwrap(), 40.0);
    close(drive.life(1.0, 1e9).unwrap().cost_per_year.unwrap(), 40.0);
    let same = Drive::new(BYTES, Rating::Tbw(3.84 * 5.0 * 365.25)).life(2.0, 1e12).unwrap();
    close(same.years, drive.life(2.0, 1e12).unwrap().years);
    assert_eq!(same.cost_per_year, None);
}

#[test]
fn power_adds_carbon() {
    let new = Drive::new(BYTES, Rating::Dwpd(1.0));
    let powered = Drive { watts: 10.0, embodied_carbon: 0.0, ..new };
    let carbon = powered.life(3.0, 1e12).unwrap().carbon_per_year;
    close(carbon, 10.0 * 24.0 * 365.25 / 1000.0 * 0.445);
}

#[test]
fn impossible_values_are_errors() {
    let drive = Drive::new(BYTES, Rating::Dwpd(1.0));
    assert!(drive.life(0.0, 1.0).is_err() && drive.life(f64::NAN, 1.0).is_err());
    let half = drive.life(0.5, 1.0).unwrap();
    assert_eq!(half.years, 2.0 * drive.life(1.0, 1.0).unwrap().years);
    let empty = Drive { bytes: 0, ..drive };
    assert_eq!(empty.check().unwrap_err().to_string(), "capacity: 0 bytes");
    assert!(drive.life(2.0, 0.0).is_err());
    let wrong = Drive { rated_waf: 0.5, ..drive };
    assert_eq!(wrong.check().unwrap_err().to_string(), "rated_waf: 0.5 is below 1");
}

#[test]
fn constants_lie_in_their_ranges() {
    for constant in CONSTANTS {
        let Constant { value, low, high, .. } = constant;
        assert!(low <= value && value <= high, "{constant}");
    }
    assert!(EMBODIED_CARBON.to_string().starts_with("0.16 (0.0029 to 0.16) kg CO2e per GB"));
}
