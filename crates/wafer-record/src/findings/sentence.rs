//! The sentences about causes.

use super::{Beside, Cause, Maintenance};
use crate::metrics::{Part, Written};
use crate::text::{bytes, percent, power};
use wafer_interface::Bytes;

/// Returns the title of a finding and the text that follows it.
pub(super) fn of(cause: &Cause) -> (String, String) {
    match cause {
        Cause::NothingWritten => ("Hosts have written nothing.".to_owned(), String::new()),
        Cause::MostlyRejected { rejected, commands } => (
            format!("The device rejected {rejected} of {commands} commands."),
            "They address blocks outside their namespace, or a nonexistent namespace. The workload was \
             made for a larger device, or needs remapping."
                .to_owned(),
        ),
        Cause::Clean { waf } => (
            format!("WAF {waf:.3}: little is relocated."),
            "The drive added less than a tenth to what hosts wrote.".to_owned(),
        ),
        Cause::AddedWrites { waf, share, bytes: added, parts } => (
            format!("WAF {waf:.3}: {} of the media writes did not come from hosts.", percent(*share)),
            match parts[..] {
                [] => format!("The drive wrote these {} for itself.", bytes(*added)),
                _ => format!("{}.", parts.iter().map(part).collect::<Vec<_>>().join(", ")),
            },
        ),
        Cause::Victims { valid_share } => (
            format!("A collected reclaim unit still held {} valid pages.", percent(*valid_share)),
            if *valid_share > 0.1 {
                "Pages in the same reclaim unit were invalidated at different times. If a whole reclaim \
                 unit were invalidated at once, GC would cost nothing."
            } else {
                "Most pages of a reclaim unit were invalidated together."
            }
            .to_owned(),
        ),
        Cause::OneStream { handle, fdp, jobs } => one_stream(handle, *fdp, jobs),
        Cause::CostliestHandle {
            handle, attributed, moved_share, partial, host_share, waf, jobs
        } => (
            match (attributed, partial) {
                (true, _) => format!(
                    "{} of the relocated data belongs to handle {handle}{}.",
                    percent(*moved_share),
                    in_brackets(jobs)
                ),
                (false, false) => format!(
                    "{} of the relocated data came from reclaim units of handle {handle}{}.",
                    percent(*moved_share),
                    in_brackets(jobs)
                ),
                (false, true) => format!(
                    "Handle {handle}{} has {} of the media writes that did not come from hosts.",
                    in_brackets(jobs),
                    percent(*moved_share)
                ),
            },
            format!("It has {} of the host writes and a WAF of {waf:.3}.", percent(*host_share)),
        ),
        Cause::RelocatedAgain { share, handles } => (
            format!("{} of the relocated data was relocated again.", percent(*share)),
            if *handles > 1 {
                format!(
                    "Relocated data of {handles} initially isolated handles shares reclaim units. \
                     Persistent isolation keeps it apart."
                )
            } else {
                "It is long-lived data: what survives one collection often survives the next."
                    .to_owned()
            },
        ),
        Cause::Adaptive { arrangement, share, changes } => (
            format!("The adaptive policy runs as {arrangement}."),
            match changes {
                0 => "It did so for the whole run.".to_owned(),
                1 => format!("It changed to this before the last {} of the writes.", percent(*share)),
                _ => format!(
                    "It changed {changes} times, to this before the last {} of the writes.",
                    percent(*share)
                ),
            },
        ),
        Cause::Rising { waf } => (
            format!("The last tenth of the run had a WAF of {waf:.3}."),
            "The cumulative WAF is still rising towards it.".to_owned(),
        ),
        Cause::PartialWrites { share } => (
            format!("Hosts wrote {} of their pages only in part.", percent(*share)),
            "Each cost a read-modify-write: block sizes below the page, or not aligned to it.".to_owned(),
        ),
        Cause::UnknownPlacement { writes } => (
            format!("{writes} writes named a placement identifier that their namespace does not define."),
            "They went to its first placement handle, as writes without a directive do.".to_owned(),
        ),
        Cause::Spilled { segments } => (
            format!("Writes went {segments} times to a reclaim group other than the one named."),
            "Hosts direct more data to a group than it can hold at a reasonable cost. Direct less to it, or write \
             without a directive: the drive then chooses the group."
                .to_owned(),
        ),
        Cause::Beside { what, waf } => beside(*what, *waf),
        Cause::MappingTable { waf, reads, map_bytes, cache_bytes } => (
            format!("The mapping table adds {waf:.3} to the WAF."),
            format!(
                "Memory holds {} of its {}, and {reads:.2} translation pages are read for each page that hosts \
                 write. A `firmware.mapping_cache` of `{}` would hold all of it.",
                power(Bytes(*cache_bytes)),
                power(Bytes(*map_bytes)),
                Bytes(*map_bytes)
            ),
        ),
        Cause::Retired { units, of } => (
            format!("{units} of {of} reclaim units are worn out and retired."),
            "Over-provisioning shrinks accordingly, and WAF rises.".to_owned(),
        ),
        Cause::ReadOnly { host_bytes, device_writes } => (
            format!(
                "The drive became read-only after {}, {device_writes:.1} times its capacity.",
                bytes(*host_bytes)
            ),
            "A reclaim unit was worn out when no more could be retired.".to_owned(),
        ),
        Cause::NoisyRuh { handle, per_host_byte, inflates } => {
            let added: Vec<String> = (inflates.iter().enumerate())
                .map(|(i, a)| {
                    let of = if i == 0 { "the WAF" } else { "that" };
                    format!("{:.2} to {of} of handle {}", a.waf, a.handle)
                })
                .collect();
            (
                format!("Noisy RUH: handle {handle}."),
                format!(
                    "For each byte written through it, {per_host_byte:.2} bytes of other handles are \
                     relocated: it adds {}. Its writes invalidate pages among data that stays valid, and GC \
                     selects victims among the reclaim units of all handles.",
                    added.join(" and ")
                ),
            )
        }
        Cause::SaveSequential {
            handle,
            sequential_share,
            moved_share,
            caused_share,
            collected,
            empty,
            punched_by_others,
        } => (
            format!("Save Sequential: handle {handle}."),
            format!(
                "{} of its bytes are sequential, so its writes would invalidate whole reclaim units one \
                 after another; of its {collected} collected reclaim units, {empty} were empty. The others were \
                 collected too early: {} of all relocated bytes are its data, and its own invalidations caused {}. Other handles invalidated {} of the invalid bytes in its reclaim units.",
                percent(*sequential_share),
                percent(*moved_share),
                percent(*caused_share),
                percent(*punched_by_others)
            ),
        ),
        Cause::OwnCost { handle, waf, own_cause } => (
            format!("Handle {handle} causes its own cost."),
            format!(
                "WAF {waf:.2}, {} of it by its own invalidations. Separating its data further, or more \
                 over-provisioning, would help; changing other handles would not.",
                percent(*own_cause)
            ),
        ),
        Cause::Comparison { best, worst, best_waf, worst_waf, volume, differences } => (
            format!(
                "{best} writes {} less to the media per host byte than {worst} (WAF {best_waf:.3} and \
                 {worst_waf:.3}{}).",
                percent(1.0 - best_waf / worst_waf),
                reached(*volume)
            ),
            if differences.is_empty() {
                String::new()
            } else {
                format!("They differ in {}.", differences.join("; "))
            },
        ),
        Cause::Tail { direction, percentile, us, median_us, part, share } => (
            format!(
                "{} p{percentile} is {}, {:.1} times the median.",
                capitalized(direction),
                time(*us),
                us / median_us
            ),
            format!("Requests beyond it spend {} of their time {}.", percent(*share), waiting(part)),
        ),
        Cause::Late { median_us, p99_us } => (
            format!("Half of the commands completed over {median_us:.0} µs later than in model time."),
            format!(
                "One in a hundred was over {p99_us:.0} µs late. This machine added the delay; the latencies do not include it."
            ),
        ),
        Cause::BusyDies { busy, gc, maintenance, reads, reads_for } => {
            let own = own(*busy, (*gc, *maintenance), *reads, reads_for);
            (format!("Dies are busy for {} of the time.", percent(*busy)), own)
        }
        Cause::SameWaf { volume } => {
            (format!("The runs have the same WAF within 1 %{}.", reached(*volume)), String::new())
        }
    }
}

/// Describes the work of dies for the drive itself.
fn own(
    busy: f64,
    (gc, maintenance): (f64, Maintenance),
    reads: f64,
    reads_for: &[Written],
) -> String {
    let (moving, takes) = match maintenance {
        Maintenance::None => ("garbage collection", "takes"),
        Maintenance::Some => ("garbage collection and maintenance", "take"),
        Maintenance::All => ("maintenance (wear levelling, refresh, read disturb)", "takes"),
    };
    let names: Vec<&str> = (reads_for.iter())
        .map(|what| match what {
            Written::Gc | Written::Maintenance | Written::Parity => "relocation",
            Written::Map => "the map",
            Written::SlcCache => "moving data out of the SLC cache",
            Written::ReadModifyWrite => "read-modify-write",
        })
        .collect();
    let (names, share) = (names.join(" and "), percent(reads / busy));
    if reads_for.is_empty() {
        format!("{} {takes} {} of it.", capitalized(moving), percent(gc / busy))
    } else if gc == 0.0 {
        format!("Reads for {names} take {share} of it.")
    } else {
        let gc = percent(gc / busy);
        format!("Programs and erases of {moving} take {gc} of it, reads for {names} {share}.")
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Describes the volume at which runs of different length are compared.
fn reached(volume: Option<f64>) -> String {
    volume.map_or_else(String::new, |v| format!(", at x{} of host writes", (v * 1e3).round() / 1e3))
}

fn part(Part { what, bytes: size }: &Part) -> String {
    let what = match what {
        Written::Gc => "were relocated by GC",
        Written::Maintenance => "were moved by wear levelling, refresh and read disturb",
        Written::Map => "are pages of the map",
        Written::Parity => "are parity",
        Written::SlcCache => "went through the SLC cache first",
        Written::ReadModifyWrite => "were added by read-modify-write",
    };
    format!("{} {what}", bytes(*size))
}

fn one_stream(handle: &str, fdp: bool, jobs: &[String]) -> (String, String) {
    let several = jobs.len() > 1;
    let title = match (fdp, several) {
        (false, _) => "FDP is off: all data shares one stream.".to_owned(),
        (true, true) => format!("{} jobs share handle {handle}, the only one in use.", jobs.len()),
        (true, false) => format!("All data went through handle {handle}."),
    };
    let text = if several {
        format!(
            "{} fill the same reclaim units. If their data lives for different times, a handle for each \
             of them keeps it apart{}.",
            listed(jobs),
            if fdp { "" } else { " (`fdp = true`)" }
        )
    } else {
        "Pages that are overwritten often share reclaim units with pages that are not.".to_owned()
    };
    (title, text)
}

fn time(us: f64) -> String {
    if us < 999.5 { format!("{us:.0} µs") } else { format!("{:.2} ms", us / 1e3) }
}

/// Describes what a request does in a part of its time.
fn waiting(part: &str) -> String {
    match part {
        "controller" => "in controller and driver".to_owned(),
        "link" => "on the link".to_owned(),
        "write buffer" => "waiting for room in the write buffer".to_owned(),
        "pacing of gc" => "held back until garbage collection has caught up".to_owned(),
        "cells" => "reading the cells".to_owned(),
        "channel" => "on the channel".to_owned(),
        "gc reads" => "behind reads of the drive itself".to_owned(),
        "map" => "reading the map from flash".to_owned(),
        "folds" => "behind data that leaves the SLC cache".to_owned(),
        work => format!("behind {}", work.replace("gc", "GC")),
    }
}

fn in_brackets(jobs: &[String]) -> String {
    if jobs.is_empty() { String::new() } else { format!(" ({})", listed(jobs)) }
}

fn listed(jobs: &[String]) -> String {
    const MOST: usize = 8;
    let more = if jobs.len() > MOST { ", …" } else { "" };
    format!("{}{more}", jobs[..jobs.len().min(MOST)].join(", "))
}

fn beside(what: Beside, waf: f64) -> (String, String) {
    let (name, text) = match what {
        Beside::Parity => ("Parity", "It is programmed for every stripe, full or not."),
        Beside::SlcCache => (
            "The SLC cache",
            "Data that is not overwritten while it waits there is programmed twice.",
        ),
        Beside::Maintenance => (
            "Wear levelling, refresh and read disturb",
            "They move data that hosts leave alone, whole reclaim units at a time.",
        ),
    };
    let verb = if what == Beside::Maintenance { "add" } else { "adds" };
    (format!("{name} {verb} {waf:.3} to the WAF."), text.to_owned())
}
