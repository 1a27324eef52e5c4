//! Files of advice: a placement map, fio options, nvme-cli commands, hints for databases and caches.

use std::path::{Path, PathBuf};

use wafer_interface::LBA_BYTES;
use wafer_trace::PlaceMap;

use super::advice::{Advice, SchemeKind};

/// Files of advice, by name.
pub struct Files(pub Vec<(&'static str, String)>);

/// Files written only if the advice has a map.
const OF_MAP: [&str; 2] = ["map.csv", "dp_scheme.csv"];

/// Returns a note about each file in the folder left by other advice that this one does not replace.
pub fn stale(folder: &Path, advice: &Advice) -> Vec<String> {
    let others = OF_MAP.iter().filter(|_| advice.map.is_none()).map(|name| folder.join(name));
    let told = |file: PathBuf| format!("{} is of other advice: this has no map", file.display());
    others.filter(|file| file.exists()).map(told).collect()
}

/// Returns the files of advice.
pub fn files(advice: &Advice) -> Files {
    let mut files = Vec::new();
    if let Some(map) = &advice.map {
        files.extend(OF_MAP.into_iter().zip([map.whole.to_csv(), dp_scheme(&map.fio)]));
    }
    files.push(("job.fio", fio_job(advice)));
    files.push(("nvme.sh", nvme(advice)));
    files.push(("hints.md", hints(advice)));
    Files(files)
}

fn handles(advice: &Advice) -> usize {
    advice.groups.len().max(1)
}

fn dp_scheme(map: &PlaceMap) -> String {
    let bytes = |blocks: u64| blocks * LBA_BYTES;
    map.ranges()
        .map(|(_, first, end, handle)| format!("{}, {}, {handle}\n", bytes(first), bytes(end)))
        .collect()
}

fn fio_job(advice: &Advice) -> String {
    let list: Vec<String> = (0..handles(advice)).map(|h| h.to_string()).collect();
    let mut text = format!(
        "# Placement advised for {}: {}.\n# One job a group; fill in sizes and offsets.\n\
         [global]\nfilename=/dev/ng0n1\nioengine=io_uring_cmd\ncmd_type=nvme\nfdp=1\n",
        advice.workload, advice.best
    );
    if let Some(map) = &advice.map {
        text.push_str(&format!(
            "\n# All groups by address, WAF {:.3}:\n[by-address]\nrw=randwrite\nfdp_pli={}\nfdp_pli_select=scheme\ndp_scheme=dp_scheme.csv\n",
            map.fio_waf,
            list.join(",")
        ));
    }
    for group in &advice.groups {
        text.push_str(&format!(
            "\n# {:.1} % of the writes, {:.1} % of the addresses, mean life {:.2} GB\n[group{}]\nfdp_pli={}\n",
            100.0 * group.write_share,
            100.0 * group.space_share,
            group.mean_life_bytes / 1e9,
            group.handle,
            group.handle
        ));
    }
    text
}

fn nvme(advice: &Advice) -> String {
    let count = handles(advice);
    let list: Vec<String> = (0..count).map(|h| h.to_string()).collect();
    format!(
        "#!/bin/sh\n# FDP on, and a namespace with {count} placement handles, for {}.\n\
         # Deletes all namespaces: read it before you run it. Needs nvme-cli 2.9 or later.\n\
         # SIZE: logical blocks of the namespace. DEV is the controller, EG its endurance group.\n\
         set -eu\nDEV=${{DEV:-/dev/nvme0}}\nEG=${{EG:-1}}\n: \"${{SIZE:?SIZE=logical blocks}}\"\n\
         CNTLID=$(nvme id-ctrl \"$DEV\" | sed -n 's/^cntlid *: *//p')\n\
         nvme fdp configs \"$DEV\" -e \"$EG\"                   # look for one with {count} handles or more\n\
         nvme delete-ns \"$DEV\" -n 0xffffffff\n\
         nvme fdp feature \"$DEV\" -e \"$EG\" -c 0              # FDP on, configuration 0\n\
         nvme create-ns \"$DEV\" -s \"$SIZE\" -c \"$SIZE\" -f 0 -e \"$EG\" -n {count} -p {}\n\
         nvme attach-ns \"$DEV\" -n 1 -c \"$CNTLID\"\n\
         nvme fdp status \"$DEV\" -n 1                        # placement identifiers and room\n\
         # A write to placement handle 1:\n\
         # nvme write \"$DEV\"n1 --start-block=0 --block-count=7 --data-size=4096 --dir-type=2 --dir-spec=1 --data=page\n",
        advice.workload,
        list.join(",")
    )
}

fn hints(advice: &Advice) -> String {
    let mut text = format!("# Placement for {}\n\n{}\n\n", advice.workload, advice.best);
    text.push_str("| handle | writes | addresses | mean life | write life hint (Linux, RocksDB) | CacheLib |\n");
    text.push_str("|---|---|---|---|---|---|\n");
    let names = ["WLTH_SHORT", "WLTH_MEDIUM", "WLTH_LONG", "WLTH_EXTREME"];
    let count = advice.groups.len();
    for (rank, group) in advice.groups.iter().enumerate() {
        let hint = if count <= 1 { "WLTH_NONE" } else { names[rank * 3 / (count - 1)] };
        // The large-object cache overwrites sequentially.
        let cache = if group.spread < 0.6 {
            "as the large-object cache (BlockCache)"
        } else {
            "as the small-object cache (BigHash)"
        };
        text.push_str(&format!(
            "| {} | {:.1} % | {:.1} % | {:.2} GB | {hint} | {cache} |\n",
            group.handle,
            100.0 * group.write_share,
            100.0 * group.space_share,
            group.mean_life_bytes / 1e9
        ));
    }
    text.push_str(
        "\nCacheLib: `navyConfig.setEnableFDP(true)` gives each engine a handle of its own.\n",
    );
    if !advice.streams.is_empty() {
        text.push_str("\n| stream | handle | writes | mean life |\n|---|---|---|---|\n");
        for s in &advice.streams {
            text.push_str(&format!(
                "| {} | {} | {:.1} % | {:.2} GB |\n",
                s.name,
                s.handle,
                100.0 * s.write_share,
                s.mean_life_bytes / 1e9
            ));
        }
    }
    let oracle = advice
        .schemes
        .iter()
        .filter(|w| w.kind == SchemeKind::Oracle)
        .map(|w| w.waf)
        .fold(f64::INFINITY, f64::min);
    if oracle.is_finite() {
        text.push_str(&format!("\nWith future knowledge of death times: WAF {oracle:.3}.\n"));
    }
    text
}
