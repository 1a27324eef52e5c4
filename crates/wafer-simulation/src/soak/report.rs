//! The results of a soak as Markdown.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use crate::events::Events;
use crate::world::World;

/// Growth of resident memory in the last part of a soak that is not a leak: buffers that the allocator keeps.
pub(crate) const GROWTH_KIB: i64 = 16 << 10;

/// A server that has ended.
pub(crate) struct Life {
    pub(crate) seconds: f64,
    /// Resident memory at its end, KiB.
    pub(crate) resident: u64,
}

/// The results of a soak.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) seconds: f64,
    pub(crate) events: Events,
    pub(crate) lives: Vec<Life>,
    /// Servers that did not start while their files failed.
    pub(crate) refused: u64,
    /// Servers that shut down and reported that the drive is not saved.
    pub(crate) unsaved: u64,
    /// Failed file operations.
    pub(crate) injected: u32,
    /// Bytes compared by complete verifications.
    pub(crate) verified: u64,
    /// Number of comparisons of counters, and of those in which SMART had a critical warning.
    pub(crate) counters: u64,
    pub(crate) warnings: u64,
    pub(crate) created: u64,
    pub(crate) deleted: u64,
    pub(crate) resets: u64,
    /// Open files of a server without connections, at the start and at the end.
    pub(crate) idle_descriptors: usize,
    pub(crate) last_descriptors: usize,
    most_descriptors: usize,
    /// Resident memory in the last part, KiB.
    calm: Vec<u64>,
}

impl Report {
    /// Adds a sample of resident memory (KiB) and open files; `calm` is the part without kills.
    pub(crate) fn sample(&mut self, calm: bool, resident: u64, files: usize) {
        self.most_descriptors = self.most_descriptors.max(files);
        if calm {
            self.calm.push(resident);
        }
    }

    /// Returns the growth of resident memory in the part without kills, KiB: its last tenth compared with its second.
    pub(crate) fn growth(&self) -> Option<i64> {
        let tenth = self.calm.len() / 10;
        let mean = |part: &[u64]| (part.iter().sum::<u64>() / part.len().max(1) as u64) as i64;
        (tenth > 0).then(|| {
            mean(&self.calm[self.calm.len() - tenth..]) - mean(&self.calm[tenth..2 * tenth])
        })
    }

    /// Returns the report.
    pub(crate) fn markdown(&self, world: &World) -> String {
        let mut out = String::new();
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let mut row = |name: &str, value: String| {
            let _ = writeln!(out, "| {name} | {value} |");
        };
        row("duration", format!("{:.0} s, seed {}", self.seconds, world.seed));
        row("commands of three hosts", load(&world.commands).to_string());
        row("of them failed, as they may while files fail", load(&world.failed).to_string());
        row("connections of hosts", load(&world.sessions).to_string());
        row("longest command", format!("{:.0} ms", load(&world.longest) as f64 / 1e3));
        row("compared by reads of everything", format!("{} MiB", self.verified >> 20));
        row("counters compared", self.counters.to_string());
        row("SMART critical warnings seen", self.warnings.to_string());
        row("namespaces created, deleted", format!("{}, {}", self.created, self.deleted));
        row("controller resets", self.resets.to_string());
        for (event, count) in &self.events {
            row(event.name(), count.to_string());
        }
        row("file operations made to fail", self.injected.to_string());
        row("starts refused while files failed", self.refused.to_string());
        row("ends that reported an unsaved drive", self.unsaved.to_string());
        let longest = self.lives.iter().map(|life| life.seconds).fold(0.0, f64::max);
        let resident = self.lives.iter().map(|life| life.resident).max().unwrap_or(0);
        row("servers", format!("{}; the longest lived {longest:.0} s", self.lives.len()));
        row("resident memory", {
            let growth = self.growth().map_or("unknown".to_owned(), |kib| format!("{kib:+} KiB"));
            format!(
                "at most {} MiB at the end of a server; in the last quarter {growth}",
                resident >> 10
            )
        });
        row("open files", {
            let (first, last) = (self.idle_descriptors, self.last_descriptors);
            format!(
                "at most {}; without hosts {first} at the start, {last} at the end",
                self.most_descriptors
            )
        });
        let result = match world.violated() {
            None => "Nothing lost, nothing leaked, nobody frozen.".to_owned(),
            Some(what) => format!("**Violated:** {what}"),
        };
        format!(
            "# Soak\n\n`make soak`: a real `wafer serve --data file:` on a file system of its own, three hosts and an \
             operator; the checks are those of the simulation.\n\n| what | how often |\n|---|---|\n{out}\n{result}\n"
        )
    }
}
