use super::*;

#[test]
fn bssplit_fills_up_and_gives_the_rest_to_the_largest() {
    let one = |text| bssplit(text, 1024).map(|s| s[WRITE].clone());
    assert_eq!(one("4k/60:64k/40"), Ok(vec![(4096, 60.0), (65536, 40.0)]));
    assert_eq!(one("4k/50:8k:16k"), Ok(vec![(4096, 50.0), (8192, 25.0), (16384, 25.0)]));
    assert_eq!(one("4k/50:8k/0:16k/"), Ok(vec![(4096, 50.0), (8192, 25.0), (16384, 25.0)]));
    assert_eq!(one("4k:8k:16k"), Ok(vec![(4096, 33.0), (8192, 33.0), (16384, 34.0)]));
    assert_eq!(one("4k/30:8k/60"), Ok(vec![(4096, 30.0), (8192, 70.0)]));
    assert_eq!(one("4k"), Ok(vec![(4096, 100.0)]));
    assert_eq!(one("4k/100:8k"), Ok(vec![(4096, 100.0)]));
    assert!(one("4k/90:8k/20").is_err());
    assert!(one("4k/x").is_err());
    assert!(one("").is_err());
    assert!(one("4k::8k").is_err());
    assert!(one(&"4k:".repeat(65)).is_err());
    let two = bssplit("4k/50:8k/50,16k", 1024).unwrap();
    assert_eq!(two[TRIM], vec![(16384, 100.0)]);
    assert_eq!(bssplit(",16k", 1024).unwrap()[READ], vec![]);
}

#[test]
fn zones_are_completed_as_fio_completes_them() {
    let one = |text| random_distribution(text, 1024).map(|d| d[WRITE].clone());
    assert_eq!(
        one("zoned:50/5:30/15:20/"),
        Ok(Distribution::Zoned(vec![(50.0, 5.0), (30.0, 15.0), (20.0, 80.0)]))
    );
    assert_eq!(
        one("zoned:60/10:40/20"),
        Ok(Distribution::Zoned(vec![(60.0, 10.0), (40.0, 20.0), (0.0, 70.0)]))
    );
    assert_eq!(
        one("zoned_abs:60/20G:40/1g"),
        Ok(Distribution::ZonedAbs(vec![(60.0, 20 << 30), (40.0, 1 << 30)]))
    );
    for bad in [
        "zoned",
        "zoned:",
        "zoned:50/5:30/15",
        "zoned:50/60:50/60",
        "zoned:100/100:0/",
        "zoned_abs:100",
        "zoned:50/50:50/50,1/2,3/4,5/6",
        "zoned:101/1",
        "zoned:100/0:",
        "zoned_abs:50/9000000t:50/9000000t",
    ] {
        if bad == "zoned:100/0:" {
            // A size of 0 means "not given": the whole region.
            assert_eq!(one(bad), Ok(Distribution::Zoned(vec![(100.0, 100.0)])));
        } else if bad == "zoned:100/100:0/" {
            assert!(one(bad).is_ok());
        } else {
            assert!(one(bad).is_err(), "{bad}");
        }
    }
}

#[test]
fn parameters_and_their_defaults() {
    let one = |text| random_distribution(text, 1024).map(|d| d[0].clone());
    assert_eq!(one("zipf"), Ok(Distribution::Zipf { theta: 1.1, center: None }));
    assert_eq!(one("zipf:1.2:0.25"), Ok(Distribution::Zipf { theta: 1.2, center: Some(0.25) }));
    assert_eq!(one("zipf:0"), Ok(Distribution::Uniform));
    assert_eq!(one("pareto"), Ok(Distribution::Pareto { h: 0.2, center: None }));
    assert_eq!(one("normal:10"), Ok(Distribution::Normal { deviation: 10.0, center: None }));
    for bad in [
        "zipf:1",
        "zipf:1.0",
        "zipf:-1",
        "zipf:x",
        "zipf:nan",
        "zipf:1.2:2",
        "zipf:1.1,zipf:1.2",
        "pareto:0",
        "pareto:1",
        "normal:100",
        "gauss:1",
        "sequence:1,2",
        " random",
        "",
    ] {
        assert!(one(bad).is_err(), "{bad}");
    }
}
