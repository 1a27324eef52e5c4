//! Tenants with a clock.

use super::*;

/// The interactive response time law (Denning and Buzen 1978): a closed loop of N commands with think time Z executes N
/// / (R + Z) commands per second, where R is the mean latency. Tenants share what the drive can do, not in a given
/// ratio.
#[test]
fn tenants_in_time_keep_the_interactive_response_time_law() {
    let tenants = |think: f64| {
        let text = format!(
            "volume = \"2x\"\n[[tenants]]\nname = \"busy\"\nsize = \"32MiB\"\nqueue_depth = 6\n\
             [tenants.workload]\nmodel = \"jesd219a\"\n\
             [[tenants]]\nname = \"thinks\"\noffset = \"32MiB\"\n\
             [tenants.workload]\nmodel = \"jesd219a\"\nqueue_depth = 4\nthink_time_us = {think:?}\n"
        );
        time_of_file(&text, &filled())
    };
    let mut shares = Vec::new();
    for think in [0.0, 2000.0] {
        let time = tenants(think);
        let [busy, thinks] = ["busy", "thinks"].map(|name| {
            let job = &time.jobs[name];
            let sides = [job.read.as_ref().unwrap(), job.write.as_ref().unwrap()];
            let count: f64 = sides.iter().map(|side| side.count as f64).sum();
            let waited: f64 = sides.iter().map(|side| side.count as f64 * side.mean_us).sum();
            (count, waited / count)
        });
        for ((count, latency), depth, think) in [(busy, 6.0, 0.0), (thinks, 4.0, think)] {
            let law = depth / (latency + think) * 1e6 * time.seconds;
            assert!((count / law - 1.0).abs() < 0.02, "{count} commands, by the law {law}");
        }
        shares.push(thinks.0 / (busy.0 + thinks.0));
    }
    assert!((shares[0] - 0.4).abs() < 0.02, "{shares:?}");
    assert!(shares[1] < 0.3, "{shares:?}");
}

/// A write that crosses the end of a placed range becomes two commands, but counts once in the job's `iodepth`.
#[test]
fn requests_in_two_ranges_do_not_deepen_the_queue() {
    let text = "volume = \"2x\"\n[[tenants]]\nname = \"a\"\n\
                ranges = [{ from = \"0\", to = \"132KiB\", placement = 0 }]\n\
                workload = { fio_text = \"[w]\\nrw=randwrite\\nbs=32k\\niodepth=4\\nsize=1m\\n\
                norandommap=1\\ntime_based=1\\nruntime=100s\\n\" }\n";
    let time = time_of_file(text, &Options::default());
    let writes = time.jobs["a/w"].write.as_ref().unwrap();
    let in_flight = writes.count as f64 * writes.mean_us / 1e6 / time.seconds;
    assert!((3.8..4.4).contains(&in_flight), "{in_flight}");
}

#[test]
fn tenants_have_latencies_however_they_share_the_drive() {
    let model = "workload = { model = \"jesd219a\", queue_depth = 2 }\n";
    for rates in [None, Some([1, 3])] {
        let rate =
            |at: usize| rates.map_or_else(String::new, |all| format!("rate = {}\n", all[at]));
        let text = format!(
            "volume = \"1x\"\n[[tenants]]\nname = \"a\"\nsize = \"32MiB\"\n{}{model}\
             [[tenants]]\nname = \"b\"\noffset = \"32MiB\"\n{}{model}",
            rate(0),
            rate(1)
        );
        let time = time_of_file(&text, &Options::default());
        let written = |name: &str| time.jobs[name].write.as_ref().unwrap().bytes as f64;
        let all = time.write.as_ref().unwrap().bytes as f64;
        assert_eq!(written("a") + written("b"), all);
        let expected = if rates.is_some() { 0.25 } else { 0.5 };
        // Sizes are drawn from 512 B to 64 KiB, of which a run this short has few.
        assert!((written("a") / all - expected).abs() < 0.03, "{}", written("a") / all);
    }
}
