use super::*;

fn error(device: &str, overrides: &[&str]) -> String {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    load_device(device, &overrides).unwrap_err().to_string()
}

fn layers(text: &str, overrides: &[&str]) -> Result<ResolvedDevice, ConfigError> {
    let overrides: Vec<String> = overrides.iter().map(|s| (*s).to_owned()).collect();
    resolve("d", Layers::from_text("d.toml", text)?, &overrides)
}

const SMALL: &str = "capacity = \"1GiB\"\n[reclaim_unit]\nsize = \"1MiB\"\ncount = 1200\n";

#[test]
fn every_shipped_profile_resolves() {
    for profile in profiles() {
        let device = load_device(&profile.name, &[]).unwrap();
        assert!(device.description.is_some(), "{}", profile.name);
        assert!(device.write_rate.is_some(), "{}", profile.name);
        assert!(device.notices.is_empty(), "{}", profile.name);
        let geometry = &device.geometry;
        let shape = wafer_media::Shape {
            page_bytes: geometry.page_bytes,
            pages_per_ru: geometry.pages_per_ru,
            ru_count: geometry.ru_count,
            groups: geometry.groups,
        };
        let timing = device.config.timing.as_ref().unwrap();
        let media = wafer_media::Media::new(timing, shape);
        assert!(media.is_ok(), "{}: {:?}", profile.name, media.err());
    }
}

#[test]
fn the_emulator_has_the_published_sizes() {
    let warp = load_device("warp", &[]).unwrap();
    assert_eq!(warp.logical_bytes(), 448 << 30);
    assert_eq!(warp.geometry.ru_count, 4086);
    let drive = load_device("drive-a", &[]).unwrap();
    assert_eq!(drive.geometry.ru_count, 604);
    assert_eq!(drive.geometry.forced_free(604), 3);
}

#[test]
fn overprovisioning_and_count_replace_each_other() {
    let device = layers(SMALL, &["overprovisioning=0.25"]).unwrap();
    assert_eq!(device.config.reclaim_unit.count, None);
    assert_eq!(device.geometry.ru_count, 1280);
    let text = SMALL.replace("count = 1200", "") + "[gc]\n";
    let text = format!("overprovisioning = 0.25\n{text}");
    let device = layers(&text, &["reclaim_unit.count=1300"]).unwrap();
    assert_eq!(device.config.overprovisioning, None);
    assert_eq!(device.geometry.ru_count, 1300);
}

#[test]
fn overrides_are_typed_and_dotted() {
    let set = [
        "gc.policy=greedy",
        "gc.background_free=0",
        "capacity=512MiB",
        "handle_isolation.2=persistently",
        "namespaces=[{size=\"100MiB\",handles=[0,1]},{size=\"412MiB\",handles=[2]}]",
    ];
    let device = layers(SMALL, &set).unwrap();
    assert_eq!(device.config.gc.background_free, 0.0);
    assert_eq!(device.config.namespaces.len(), 2);
    assert_eq!(device.notices.len(), 1, "capacity changed, count did not");
}

#[test]
fn overrides_without_effect_are_named() {
    let set = ["streams=4", "gc.choices=3"];
    let text = [
        "streams has no effect without fdp = false",
        "gc.choices has no effect without gc.policy = \"d-choices\"",
    ];
    assert_eq!(layers(SMALL, &set).unwrap().notices, text);
    let set = ["streams=4", "gc.choices=3", "fdp=false", "gc.policy=d-choices", "groups=1"];
    assert_eq!(layers(SMALL, &set).unwrap().notices, ["groups has no effect without fdp = true"]);
    let never = ["timing.slice_us=0", "timing.erase_slice_us=0", "timing.resume_us=2"];
    let set = [&["timing.gc_burst=1MiB", "timing.slc_read_us=30"][..], &never].concat();
    let set: Vec<String> = set.into_iter().map(String::from).collect();
    let text = [
        "timing.gc_burst has no effect without timing.gc_pacing = \"burst\"",
        "timing.resume_us has no effect without timing.slice_us or timing.erase_slice_us",
        "timing.slc_read_us has no effect without firmware.slc_cache",
    ];
    assert_eq!(load_device("pm9a3", &set).unwrap().notices, text);
}

#[test]
fn a_burst_beyond_the_spare_space_is_told() {
    let notices = |burst: &str| {
        let size = ["capacity=1GiB", "reclaim_unit.size=1MiB", "overprovisioning=0.1"];
        let mut set = size.map(String::from).to_vec();
        set.extend(["timing.gc_pacing=burst".to_owned(), format!("timing.gc_burst={burst}")]);
        load_device("pm9a3", &set).unwrap().notices
    };
    assert!(!notices("64MiB").iter().any(|text| text.contains("gc_burst")));
    let told = notices("256MiB");
    assert!(told.iter().any(|text| text.starts_with("timing.gc_burst is more than")), "{told:?}");
}

#[test]
fn errors_name_the_line_or_the_flag() {
    assert_eq!(
        layers(&SMALL.replace("count", "cuont"), &[]).unwrap_err().to_string(),
        "d.toml:4: reclaim_unit.cuont: unknown key; did you mean `reclaim_unit.count`?"
    );
    for (set, message) in [
        ("capcity=1GiB", "capcity: unknown key; did you mean `capacity`?"),
        ("gc.polcy=greedy", "gc.polcy: unknown key; did you mean `gc.policy`?"),
        (
            "isolation=strictly",
            "isolation: unknown value `strictly`; known: initially, persistently",
        ),
        ("isolation=[]", "isolation: expected text, found []"),
        ("gc.destination=5", "gc.destination: expected text, found 5"),
    ] {
        assert_eq!(layers(SMALL, &[set]).unwrap_err().to_string(), message);
    }
    assert_eq!(
        layers(&SMALL.replace("1GiB", "1GB1"), &[]).unwrap_err().to_string(),
        "d.toml:1: capacity: `1GB1` is not a size; write a number with B, KiB, MiB, GiB, TiB \
         (binary) or kB, MB, GB, TB (decimal)"
    );
    assert_eq!(
        layers("[reclaim_unit]\nsize = \"1MiB\"\n", &[]).unwrap_err().to_string(),
        "d.toml: capacity: missing; it has no default"
    );
    assert_eq!(
        layers(&SMALL.replace("1200", "\"many\""), &[]).unwrap_err().to_string(),
        "d.toml:4: reclaim_unit.count: expected a whole number, found string \"many\""
    );
    assert_eq!(
        layers("capacity = \"1GiB\"\nreclaim_unit = 3\n", &[]).unwrap_err().to_string(),
        "d.toml:2: reclaim_unit: expected a table, found integer `3`"
    );
    let broken = layers("capacity = \n", &[]).unwrap_err().to_string();
    assert!(broken.starts_with("d.toml:1: "), "{broken}");
    assert!(!broken.contains('\n'), "{broken}");
}

#[test]
fn an_unknown_profile_is_suggested() {
    assert_eq!(error("wrap", &[]), "device wrap: no such profile; did you mean `warp`?");
    assert_eq!(error("nowhere/x.toml", &[]), "device nowhere/x.toml: no such file: nowhere/x.toml");
    assert_eq!(
        error("warp", &["gc.policy=gredy"]),
        "gc.policy: no policy `gredy`; did you mean `greedy`?"
    );
    assert_eq!(error("warp", &["gc"]), "gc: expected KEY=VALUE, such as gc.policy=greedy");
}
