//! Findings for tables whose cause is known.

use super::attributed::{causes, check, costs, shared};
use super::*;
use crate::time::{Band, Requests, TimeRecord};
use crate::{CollectedRecord, Series};

/// Two handles of 1,000 bytes each; the first writes `sequential` of them sequentially.
fn two(sequential: u64, relocated: [[u64; 2]; 2]) -> AttributionRecord {
    let rows = |table: [[u64; 2]; 2]| table.iter().map(|row| row.to_vec()).collect::<Vec<_>>();
    let names = || vec!["0".to_owned(), "1".to_owned()];
    AttributionRecord {
        handles: names(),
        host_bytes: vec![1000, 1000],
        sequential_bytes: vec![sequential, 0],
        relocated_bytes: rows(relocated),
        demanded_bytes: rows(relocated),
        owners: names(),
        invalidated_bytes: rows([[300, 0], [100, 400]]),
        collected: vec![CollectedRecord { reclaim_units: 9, empty: 1, relocated_bytes: 7 }; 2],
    }
}

fn explain(a: &AttributionRecord) -> Explanation {
    check(a).unwrap();
    let (relocated_bytes, handles) = costs(a, &Timeline::default());
    let findings = causes(2000, a, &Timeline::default()).into_iter().map(Finding::from).collect();
    let waf = 1.0 + relocated_bytes as f64 / 2000.0;
    let shared = shared(a).cloned();
    Explanation { name: "case".to_owned(), waf, relocated_bytes, handles, shared, findings }
}

/// 7 bytes were relocated out of its reclaim units; the rest of its media bytes completed pages.
#[test]
fn the_waf_of_a_handle_has_the_pages_that_hosts_wrote_in_part() {
    let a = two(0, [[5, 0], [0, 20]]);
    let series = Series { host_bytes: vec![400, 1000], media_bytes: vec![900, 3007] };
    let mut timeline = Timeline::default();
    timeline.handles.insert(HandleKey::Handle(0), series);
    let wafs: Vec<_> = costs(&a, &timeline).1.iter().map(|cost| cost.waf).collect();
    assert_eq!(wafs, [Some(3.005), Some(1.02)]);
}

#[test]
fn a_handle_that_no_host_wrote_has_no_waf() {
    let mut a = two(0, [[5, 0], [0, 20]]);
    a.host_bytes[0] = 0;
    let handles = explain(&a).handles;
    assert_eq!((handles[0].waf, handles[1].waf), (None, Some(1.02)));
}

#[test]
fn reclaim_units_of_no_handle_count_too() {
    let mut a = two(1000, [[5, 0], [0, 20]]);
    assert_eq!(explain(&a).shared, None);
    let gc = CollectedRecord { reclaim_units: 4, empty: 2, relocated_bytes: 6 };
    a.owners.push("gc".to_owned());
    a.invalidated_bytes.iter_mut().for_each(|row| row.push(0));
    a.collected.push(gc.clone());
    assert_eq!(explain(&a).shared, Some(gc));
}

#[test]
fn little_relocated_is_no_cause() {
    let e = explain(&two(1000, [[5, 0], [0, 20]]));
    assert_eq!(e.findings, []);
}

#[test]
fn invalidations_among_the_data_of_others_are_noisy() {
    // Handle 1 moves 600 bytes of handle 0 for 1,000 it writes, and none of its own.
    let e = explain(&two(0, [[20, 0], [600, 0]]));
    let [Finding { cause: Cause::NoisyRuh { handle, per_host_byte, inflates }, .. }] =
        &e.findings[..]
    else {
        panic!("{:?}", e.findings)
    };
    assert_eq!((handle.as_str(), *per_host_byte), ("1", 0.6));
    assert_eq!(inflates, &[Added { handle: "0".to_owned(), waf: 0.6 }]);
    assert!((e.handles[0].waf.unwrap() - 1.62).abs() < 1e-12);
    assert!((e.handles[1].caused_share.unwrap() - 600.0 / 620.0).abs() < 1e-12);
}

#[test]
fn a_sequential_stream_that_moves_was_collected_too_early() {
    let e = explain(&two(900, [[300, 0], [100, 0]]));
    let Some(Cause::SaveSequential { handle, moved_share, punched_by_others, .. }) =
        e.findings.iter().map(|f| &f.cause).find(|c| matches!(c, Cause::SaveSequential { .. }))
    else {
        panic!("{:?}", e.findings)
    };
    assert_eq!((handle.as_str(), *moved_share, *punched_by_others), ("0", 1.0, 0.25));
    // The same data written at random is not.
    assert!(!explain(&two(100, [[300, 0], [100, 0]])).save_sequential());
    // Nor is it if hardly any of its data is relocated.
    assert!(!explain(&two(900, [[30, 0], [0, 400]])).save_sequential());
}

#[test]
fn a_handle_that_pays_for_itself_is_not_noisy() {
    let e = explain(&two(0, [[0, 0], [10, 900]]));
    assert!(!e.noisy_ruh() && !e.save_sequential());
    let [Finding { cause: Cause::OwnCost { handle, own_cause, .. }, .. }] = &e.findings[..] else {
        panic!("{:?}", e.findings)
    };
    assert_eq!((handle.as_str(), *own_cause), ("1", 1.0));
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let mut a = two(0, [[0, 0], [0, 0]]);
    a.relocated_bytes[1].pop();
    assert_eq!(check(&a).unwrap_err(), "its tables are not all of 2 handles");
}

/// The record of a drive that received commands and wrote this many bytes.
fn drive(commands: u64, rejected: u64, host_bytes: u64) -> Record {
    let counters = wafer_interface::Counters {
        commands,
        rejected,
        host_bytes,
        media_bytes: host_bytes,
        ..Default::default()
    };
    let snapshot = crate::Snapshot { counters, ..Default::default() };
    let timeline = crate::Timeline {
        host_bytes: vec![host_bytes],
        media_bytes: vec![host_bytes],
        ..Default::default()
    };
    Record::of_snapshot("d".to_owned(), Default::default(), snapshot, timeline)
}

#[test]
fn a_workload_that_is_mostly_rejected_says_so() {
    let kinds = |record: Record| -> Vec<String> {
        record.findings.unwrap().into_iter().map(|f| f.title).collect::<Vec<_>>()
    };
    assert_eq!(kinds(drive(10, 6, 4096))[0], "The device rejected 6 of 10 commands.");
    assert_eq!(kinds(drive(10, 5, 4096)).len(), 1, "half is not most");
    assert_eq!(
        kinds(drive(2, 2, 0)),
        ["The device rejected 2 of 2 commands.", "Hosts have written nothing."]
    );
}

#[test]
fn the_tail_of_a_run_with_a_clock_names_what_it_waits_for() {
    let band = |from, to, parts: &[(&str, f64)]| Band {
        from,
        to,
        parts_us: parts.iter().map(|(part, us)| ((*part).to_owned(), *us)).collect(),
    };
    let requests = |count, p999| Requests {
        count,
        percentiles_us: [("50", 60.0), ("99", 100.0), ("99.9", p999)]
            .map(|(percent, us)| (percent.to_owned(), us))
            .into(),
        bands: vec![
            band(99.0, 99.9, &[("cells", 90.0), ("erases", 10.0)]),
            band(99.9, 99.99, &[("cells", 40.0), ("erases", 710.0), ("gc reads", 250.0)]),
        ],
        ..Requests::default()
    };
    let titles = |time: &TimeRecord| -> Vec<String> {
        timed::causes(time, &crate::Summary::default())
            .into_iter()
            .map(|cause| Finding::from(cause).to_string())
            .collect()
    };
    let read = |requests| TimeRecord { read: Some(requests), ..TimeRecord::default() };
    let expected = "Read p99.9 is 900 µs, 15.0 times the median. Requests beyond it spend 71 % of their time behind \
                    erases.";
    assert_eq!(titles(&read(requests(100_000, 900.0))), [expected]);
    let trims = TimeRecord { trim: Some(requests(100_000, 900.0)), ..TimeRecord::default() };
    assert_eq!(titles(&trims), [expected.replace("Read", "Trim")]);
    // A tail near the median has no cause, nor has a tail of too few requests.
    assert_eq!(titles(&read(requests(100_000, 110.0))), [""; 0]);
    assert_eq!(titles(&read(requests(1_000, 900.0))), [""; 0]);
    let dies = [("host_program", 0.3), ("gc_program", 0.3), ("erase", 0.2), ("idle", 0.2)]
        .map(|(work, share)| (work.to_owned(), share))
        .into();
    let busy = TimeRecord { dies, ..TimeRecord::default() };
    let expected = "Dies are busy for 80 % of the time. Garbage collection takes 62 % of it.";
    assert_eq!(titles(&busy), [expected]);
    let late = |us: f64| TimeRecord {
        late_us: [("50".to_owned(), us), ("99".to_owned(), 300.0)].into(),
        ..read(requests(1_000, 100.0))
    };
    let expected = "Half of the commands completed over 41 µs later than in model time. One in a hundred was over \
                    300 µs late. This machine added the delay; the latencies do not include it.";
    assert_eq!(titles(&late(41.0)), [expected]);
    // A tenth of the median.
    assert_eq!(titles(&late(5.9)), [""; 0]);
}

#[test]
fn what_the_adaptive_policy_chose_is_said_with_its_part_of_the_run() {
    use crate::{ArrangementRecord, Summary, Timeline};
    let of = |host_bytes, policy: &str, separation: Option<&str>| ArrangementRecord {
        host_bytes,
        policy: policy.to_owned(),
        destination: None,
        separation: separation.map(str::to_owned),
    };
    let summary = Summary { host_bytes: 1000, media_bytes: 1002, ..Summary::default() };
    let mut record = Record {
        arrangements: vec![of(0, "gittins", None)],
        ..Record::new("case".to_owned(), Default::default(), summary, Timeline::default())
    };
    let said = |record: &Record| {
        let all = Finding::all(record);
        let found = all.iter().find(|found| matches!(found.cause, Cause::Adaptive { .. }));
        found.expect("a finding").to_string()
    };
    assert_eq!(said(&record), "The adaptive policy runs as gittins. It did so for the whole run.");
    record.arrangements.push(of(250, "cost-benefit", Some("multilog")));
    assert_eq!(
        said(&record),
        "The adaptive policy runs as cost-benefit with gc.separation = \"multilog\". It changed to this \
         before the last 75 % of the writes."
    );
    record.arrangements.clear();
    let adapts = |found: &Finding| matches!(found.cause, Cause::Adaptive { .. });
    assert!(!Finding::all(&record).iter().any(adapts));
}

/// A record of a device with pages of 4 KiB and a capacity of 1 MiB, whose cumulative media bytes are `media` after
/// each 1 MiB of host writes.
fn of_counters(counters: wafer_interface::Counters, media: &[u64]) -> Record {
    const MIB: u64 = 1 << 20;
    let geometry = crate::record::GeometryRecord {
        page_bytes: 4096,
        logical_pages: 256,
        pages_per_ru: 64,
        ru_count: 8,
        groups: 1,
        forced_free: 1,
        background_free: 1,
        overprovisioning: 1.0,
    };
    let provenance = crate::record::Provenance { geometry: Some(geometry), ..Default::default() };
    let host_bytes: Vec<u64> = (1..=media.len() as u64).map(|step| step * MIB).collect();
    let counters = wafer_interface::Counters {
        host_bytes: host_bytes.last().copied().unwrap_or(0),
        media_bytes: media.last().copied().unwrap_or(0),
        ..counters
    };
    let timeline =
        crate::Timeline { host_bytes, media_bytes: media.to_vec(), ..Default::default() };
    let snapshot = crate::Snapshot { counters, ..Default::default() };
    Record::of_snapshot("d".to_owned(), provenance, snapshot, timeline)
}

#[test]
fn added_writes_are_named_by_what_they_are() {
    const MIB: u64 = 1 << 20;
    let clean = of_counters(wafer_interface::Counters::default(), &[MIB]).findings.unwrap();
    assert!(
        clean[0].title.contains("little is relocated")
            && clean[0].text.contains("less than a tenth")
    );
    let said = |counters: wafer_interface::Counters| {
        let record = of_counters(counters, &[2 * MIB]);
        record.findings.unwrap()[0].text.clone()
    };
    let pages = |relocated_pages, map_pages| wafer_interface::Counters {
        host_pages: 256,
        relocated_pages,
        map_pages,
        ..Default::default()
    };
    assert_eq!(said(pages(256, 0)), "1.05 MB were relocated by GC.");
    assert_eq!(said(pages(56, 200)), "819 kB are pages of the map, 229 kB were relocated by GC.");
    let in_part = wafer_interface::Counters { host_pages: 512, rmw_pages: 300, ..pages(0, 0) };
    assert_eq!(said(in_part), "1.05 MB were added by read-modify-write.");
    // One handle mixes data only if some of it was relocated.
    let mixed = |relocated_pages: u64| {
        let mut record = of_counters(pages(relocated_pages, 256 - relocated_pages), &[2 * MIB]);
        let series = crate::Series { host_bytes: vec![MIB], media_bytes: vec![2 * MIB] };
        record.timeline.handles.insert(crate::HandleKey::Handle(0), series);
        let causes = super::counted::causes(&record, None);
        causes.iter().any(|cause| matches!(cause, Cause::OneStream { .. }))
    };
    assert!(mixed(56) && !mixed(0));
}

#[test]
fn a_rising_waf_rests_on_many_collections() {
    const MIB: u64 = 1 << 20;
    let media: Vec<u64> = (1..=40).map(|step| step * step * MIB).collect();
    let rises = |forced_gc| {
        let counters = wafer_interface::Counters { forced_gc, ..Default::default() };
        let found = of_counters(counters, &media).findings.unwrap();
        found.iter().any(|f| matches!(f.cause, Cause::Rising { .. }))
    };
    assert_eq!([35, 1000].map(rises), [false, true]);
}

/// By the counters, little may be relocated out of the reclaim units of the handle whose data costs most.
#[test]
fn the_costliest_handle_is_the_one_of_the_table() {
    const MIB: u64 = 1 << 20;
    let mut record = of_counters(Default::default(), &[MIB, 3 * MIB]);
    for (handle, media) in [(0, 2 * MIB), (1, MIB)] {
        let series = Series { host_bytes: vec![MIB], media_bytes: vec![media] };
        record.timeline.handles.insert(crate::HandleKey::Handle(handle), series);
    }
    let costliest = |record: &Record| {
        let found = Finding::all(record).into_iter();
        found.map(|f| f.title).find(|title| title.contains("of the relocated data")).unwrap()
    };
    assert!(costliest(&record).ends_with("came from reclaim units of handle 0."));
    record.attribution = Some(two(0, [[20, 0], [0, 600]]));
    assert_eq!(costliest(&record), "97 % of the relocated data belongs to handle 1.");
}

#[test]
fn writes_elsewhere_than_named_are_told() {
    const MIB: u64 = 1 << 20;
    let with = |events| {
        let mut record = of_counters(Default::default(), &[MIB, 3 * MIB]);
        record.summary.events = Some(events);
        record
    };
    let unknown = crate::Events { invalid_placement_identifier: 7, ..Default::default() };
    let expected = "7 writes named a placement identifier that their namespace does not define.";
    assert_eq!(Finding::all(&with(unknown))[0].title, expected);
    // A drive in use counts events by name.
    let mut served = with(crate::Events::default());
    served.summary.events = None;
    let counts = vec![("implicitly modified handle".to_owned(), 3), ("other".to_owned(), 9)];
    served.live = Some(crate::Live { event_counts: counts, ..Default::default() });
    assert!(Finding::all(&served).iter().any(|f| f.cause == Cause::Spilled { segments: 3 }));
    let spilled = |times| {
        let record = with(crate::Events { implicitly_modified_ruh: times, ..Default::default() });
        let found = Finding::all(&record).into_iter();
        found
            .filter(|f| matches!(f.cause, Cause::Spilled { .. }))
            .map(|f| f.title)
            .collect::<Vec<_>>()
    };
    assert_eq!(spilled(0), Vec::<String>::new());
    let title = "Writes went 12 times to a reclaim group other than the one named.";
    assert_eq!(spilled(12), [title]);
}

#[test]
fn runs_are_compared_at_the_volume_that_all_reach() {
    const MIB: u64 = 1 << 20;
    let run = |media: &[u64]| of_counters(Default::default(), media);
    let said = |records: &[Record]| {
        let labels = ["a", "b"].map(str::to_owned);
        comparison(records, &labels)[0].title.clone()
    };
    // The longer run has the higher WAF at its end, and the same WAF where the other ends.
    let short = run(&[MIB, 2 * MIB]);
    let long = run(&[MIB, 2 * MIB, 9 * MIB]);
    let expected = "The runs have the same WAF within 1 %, at x2 of host writes.";
    assert_eq!(said(&[short, long]), expected);
    let equal = [run(&[MIB, 2 * MIB]), run(&[MIB, 4 * MIB])];
    let expected = "a writes 50 % less to the media per host byte than b (WAF 1.000 and 2.000).";
    assert_eq!(said(&equal), expected);
    // One run has hardly begun.
    let mut begun = run(&[MIB]);
    (begun.summary.host_bytes, begun.timeline.host_bytes) = (4096, vec![4096]);
    let labels = ["a", "b"].map(str::to_owned);
    assert!(comparison(&[begun, run(&[MIB, 4 * MIB])], &labels).is_empty());
}

#[test]
fn a_handle_is_the_costliest_only_with_a_lead() {
    let found = |moved: [u64; 2], rmw_pages: u64| {
        let counters = wafer_interface::Counters { rmw_pages, ..Default::default() };
        let mut record = of_counters(counters, &[3 << 20]);
        for (handle, moved) in (0..).zip(moved) {
            let series = Series { host_bytes: vec![1 << 19], media_bytes: vec![(1 << 19) + moved] };
            record.timeline.handles.insert(HandleKey::Handle(handle), series);
        }
        let mut found = Finding::all(&record).into_iter();
        found.find(|f| matches!(f.cause, Cause::CostliestHandle { .. })).map(|f| f.title)
    };
    assert_eq!(found([1000, 1010], 0), None);
    let moved = found([1000, 2000], 0).unwrap();
    assert!(moved.contains("relocated") && moved.contains("handle 1"), "{moved}");
    // Writes added by partly written pages are not relocations.
    let added = found([1000, 2000], 1).unwrap();
    assert!(!added.contains("relocated") && added.starts_with("Handle 1 has"), "{added}");
}

/// Data that is still in the cache was programmed once.
#[test]
fn an_slc_cache_adds_what_left_it() {
    // 4 MiB through a cache of 2 MiB and of 1 MiB, and pages of which hosts wrote half.
    for (left, rmw_pages, waf, share, text) in [
        (512, 0, 1.5, "33 %", "2.10 MB went through the SLC cache first."),
        (768, 0, 1.75, "43 %", "3.15 MB went through the SLC cache first."),
        (
            512,
            2048,
            2.5,
            "60 %",
            "4.19 MB were added by read-modify-write, 2.10 MB went through the SLC cache first.",
        ),
    ] {
        let cache_pages = 1024 + rmw_pages / 2;
        let pages = wafer_interface::Counters {
            cache_pages,
            host_pages: left,
            rmw_pages,
            ..Default::default()
        };
        let found = of_counters(pages, &[0, 0, 0, (cache_pages + left) * 4096]).findings.unwrap();
        let title = format!("WAF {waf:.3}: {share} of the media writes did not come from hosts.");
        assert_eq!((found[0].title.as_str(), found[0].text.as_str()), (title.as_str(), text));
        let cache = |f: &&Finding| f.title.starts_with("The SLC cache");
        let title = format!("The SLC cache adds {:.3} to the WAF.", left as f64 / 1024.0);
        assert_eq!(found.iter().find(cache).unwrap().title, title);
    }
}

/// Only relocated data of initially isolated handles in one group shares reclaim units.
#[test]
fn relocated_data_shares_reclaim_units_only_where_it_can() {
    const MIB: u64 = 1 << 20;
    let handles = |config: serde_json::Value, groups: u16, moved: [u64; 2], rmw_pages: u64| {
        let counters = wafer_interface::Counters { rmw_pages, ..Default::default() };
        let mut record = of_counters(counters, &[MIB, 4 * MIB]);
        record.provenance.config = Some(config);
        record.provenance.geometry.as_mut().unwrap().groups = groups;
        let keys = [HandleKey::Handle(0), HandleKey::Handle(1), HandleKey::Gc];
        for (key, moved) in keys.into_iter().zip([moved[0], moved[1], MIB]) {
            let series = Series { host_bytes: vec![MIB], media_bytes: vec![MIB + moved] };
            record.timeline.handles.insert(key, series);
        }
        let again = Finding::all(&record).into_iter();
        let mut again = again.filter(|f| matches!(f.cause, Cause::RelocatedAgain { .. }));
        again.next().unwrap().text.contains("handles shares reclaim units")
    };
    let initially = || serde_json::json!({"isolation": "initially"});
    assert!(handles(initially(), 1, [MIB, MIB], 0));
    assert!(!handles(initially(), 1, [MIB, 0], 0), "one handle without relocated data");
    assert!(!handles(initially(), 2, [MIB, MIB], 0), "groups of their own");
    assert!(!handles(initially(), 1, [MIB, MIB], 9), "writes in part, perhaps");
    let other =
        serde_json::json!({"isolation": "initially", "handle_isolation": {"1": "persistently"}});
    assert!(!handles(other, 1, [MIB, MIB], 0));
    let other =
        serde_json::json!({"isolation": "persistently", "handle_isolation": {"1": "initially"}});
    assert!(!handles(other, 1, [MIB, MIB], 0));
}

/// The media model counts reads for garbage collection, partly written pages, the map and folds together.
#[test]
fn dies_are_busy_with_what_the_counters_show() {
    let dies = [("host_program", 0.4), ("gc_read", 0.1), ("gc_program", 0.2), ("erase", 0.1)];
    let dies = dies.into_iter().chain([("idle", 0.2)]);
    let time = TimeRecord {
        dies: dies.map(|(work, share)| (work.to_owned(), share)).collect(),
        ..TimeRecord::default()
    };
    let said = |counters: wafer_interface::Counters| {
        let found = timed::causes(&time, &crate::Summary::from(&counters));
        found.into_iter().map(|cause| Finding::from(cause).text).collect::<Vec<_>>().join("")
    };
    let counters = wafer_interface::Counters::default;
    let relocated = || wafer_interface::Counters { relocated_pages: 9, ..counters() };
    assert_eq!(said(relocated()), "Garbage collection takes 50 % of it.");
    assert_eq!(said(counters()), "");
    let in_part = wafer_interface::Counters { rmw_pages: 9, ..counters() };
    assert_eq!(said(in_part), "Reads for read-modify-write take 12 % of it.");
    let map =
        wafer_interface::Counters { map_reads: 9, cache_pages: 9, host_pages: 4, ..counters() };
    let expected = "Reads for the map and moving data out of the SLC cache take 12 % of it.";
    assert_eq!(said(map), expected);
    let empty = wafer_interface::Counters { forced_gc: 3, ..counters() };
    assert_eq!(said(empty), "Garbage collection takes 12 % of it.");
    let kept = |pages| wafer_interface::Counters {
        maintained_rus: 1,
        maintained_pages: pages,
        ..relocated()
    };
    assert_eq!(said(kept(4)), "Garbage collection and maintenance take 50 % of it.");
    let all = "Maintenance (wear levelling, refresh, read disturb) takes 50 % of it.";
    assert_eq!(said(kept(9)), all);
    let both = wafer_interface::Counters { rmw_pages: 9, ..relocated() };
    assert_eq!(
        said(both),
        "Programs and erases of garbage collection take 38 % of it, reads for relocation and read-modify-write 12 %."
    );
}
