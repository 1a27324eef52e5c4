//! Formats rankings as Markdown tables.

use std::fmt::Write as _;

use super::{PolicyRow, Ranking, WorkloadRanking, count};

impl PolicyRow {
    /// Returns the paired difference with its interval, such as `-0.312 ± 0.004`.
    pub fn interval(&self) -> String {
        match self.half_width {
            Some(half) => format!("{:+.3} ± {half:.3}", self.difference),
            None => format!("{:+.3}", self.difference),
        }
    }

    /// Returns the WAF of the last tenth; `-` if nothing was written in it.
    pub fn at_end(&self) -> String {
        if self.waf_at_end.is_nan() { "-".to_owned() } else { format!("{:.3}", self.waf_at_end) }
    }
}

impl WorkloadRanking {
    /// Returns the name, device, host bytes and number of seeds, in one line.
    pub fn title(&self) -> String {
        let seeds = count(self.seeds.len(), "seed");
        format!("{}, device {}, {} host bytes, {seeds}", self.name, self.device, self.host_bytes)
    }
}

impl Ranking {
    /// Returns all tables as Markdown.
    pub fn markdown(&self) -> String {
        // Writing to a string cannot fail.
        let mut text = String::new();
        for workload in &self.workloads {
            let _ = writeln!(text, "### {}\n", workload.title());
            let _ = writeln!(
                text,
                "| policy | WAF | at the end | less {} | extra writes saved | above best |",
                self.baseline
            );
            text.push_str("|---|--:|--:|--:|--:|--:|\n");
            for row in &workload.rows {
                let saved =
                    row.saved_percent.map_or_else(String::new, |percent| format!("{percent:.1} %"));
                let _ = writeln!(
                    text,
                    "| {} | {:.3} | {} | {} | {saved} | {:.1} % |",
                    row.policy,
                    row.waf,
                    row.at_end(),
                    row.interval(),
                    row.above_best_percent
                );
            }
            if let Some(bound) = &workload.bound {
                for (name, waf) in bound.lines() {
                    let _ = writeln!(text, "| *{name}* | {waf:.3} | | | | |");
                }
            }
            text.push('\n');
        }
        if self.workloads.len() > 1 {
            let _ = writeln!(text, "### All {} workloads\n", self.workloads.len());
            text.push_str(
                "| policy | mean above best | most above best | where |\n|---|--:|--:|---|\n",
            );
            for row in &self.overall {
                let _ = writeln!(
                    text,
                    "| {} | {:.1} % | {:.1} % | {} |",
                    row.policy,
                    row.mean_above_best_percent,
                    row.worst_above_best_percent,
                    row.worst
                );
            }
        }
        text
    }
}
