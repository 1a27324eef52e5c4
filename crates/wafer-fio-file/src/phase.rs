//! Which jobs run at the same time: `stonewall` and `wait_for` as phases.

use super::error::quote;

/// The options that determine a job's phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrier<'a> {
    pub(super) name: &'a str,
    /// Waits for all jobs before it.
    pub(super) stonewall: bool,
    /// Waits for one job.
    pub(super) wait_for: Option<&'a str>,
}

/// Returns the phase of each job, from 0, without gaps.
///
/// A `wait_for` is expressed as a phase, which is equivalent only if the job waited for runs alone in its phase.
/// Otherwise, returns the index of that job and the reason.
pub(super) fn phases(jobs: &[Barrier<'_>]) -> Result<Vec<u32>, (usize, String)> {
    // Position of a job: the number of stonewalls before it, then the length of its `wait_for` chain.
    let mut places: Vec<(u32, u32)> = Vec::with_capacity(jobs.len());
    let mut waits: Vec<Option<usize>> = Vec::with_capacity(jobs.len());
    let mut group = 0;
    for (index, job) in jobs.iter().enumerate() {
        if job.stonewall && index > 0 {
            group += 1;
        }
        let mut level = 0;
        let mut awaited = None;
        if let Some(name) = job.wait_for {
            let before = waited(jobs, index, name).map_err(|e| (index, e))?;
            if places[before].0 == group {
                level = places[before].1 + 1;
                awaited = Some(before);
            }
        }
        places.push((group, level));
        waits.push(awaited);
    }
    for (index, awaited) in waits.iter().enumerate() {
        let Some(awaited) = *awaited else { continue };
        let beside = places.iter().filter(|&&p| p == places[awaited]).count() > 1;
        if beside {
            let name = quote(jobs[awaited].name);
            let why = format!(
                "other jobs run alongside {name}; only a job that runs alone can be waited for"
            );
            return Err((index, format!("{why} (or use stonewall)")));
        }
    }
    let mut order = places.clone();
    order.sort_unstable();
    order.dedup();
    let phase = |place| order.partition_point(|p| p < place);
    Ok(places.iter().map(|p| u32::try_from(phase(p)).unwrap_or(u32::MAX)).collect())
}

/// Returns the only job before `index` with this name.
fn waited(jobs: &[Barrier<'_>], index: usize, name: &str) -> Result<usize, String> {
    let quoted = quote(name);
    let mut found =
        jobs[..index].iter().enumerate().filter(|(_, j)| j.name == name).map(|(i, _)| i);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => Err(format!("several jobs are named {quoted}")),
        _ if jobs[index].name == name => Err("a job cannot wait for itself".into()),
        _ => Err(format!("no job before this one is named {quoted}")),
    }
}

#[cfg(test)]
mod tests;
