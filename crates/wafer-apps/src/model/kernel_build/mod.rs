//! Kernel build: `make -jN` repeatedly, after touching a header that much of the tree includes.
//!
//! KIOXIA's performance brief on the XD8 (2025): Linux 6.12.1 with `make -j64`, the root file system on one namespace,
//! /tmp and swap on another, 128 GB of memory or 8 GB.
//!
//! Every compilation creates a temporary file in /tmp and an object in the tree. Files start out dirty in the page
//! cache and get their location at writeback (delayed allocation): after `dirty_expire`, or when more than
//! `page_cache` is dirty. A file deleted before that never reaches the drive. Space is allocated by next fit, which
//! circulates through the file system. Each file system has a journal ring. Every `commit` seconds, it receives the
//! metadata blocks that changed; they are written in place once they have been dirty for `dirty_expire`. Under a
//! memory limit, processes are swapped out. Slots come from clusters of 256 pages, as in the kernel's swap allocation
//! (mm/swapfile.c), and are freed when the process ends.
//!
//! The brief gives no sizes, shares or lifetimes. Those are assumptions, calibrated to give the shares of bytes stated
//! in docs/studies/models.md.

mod files;
mod metadata;
mod part;
mod swap;

use std::collections::VecDeque;

use files::{FileId, FileSystem};
use metadata::Metadata;
use part::{PAGE, Part, What};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swap::Swap;
use wafer_interface::{Bytes, Command, Figure, Placement};
use wafer_random::Rng;

use super::application::{Application, chance, count, placement, ratio, rng};
use super::area::Area;
use super::checks::{between, within};
use super::configuration::Configuration;
use super::space::Space;
use wafer_interface::InvalidKey;

/// Repeated compilation of the Linux kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KernelBuildConfig {
    /// With a single namespace, the share of it for the root file system; with two, the first is the root and the
    /// second has /tmp and swap. Default 0.026 (the brief: 100 of 3,840 GB).
    pub root: f64,
    /// Concurrent compilations. Default 64 (the brief: `make -j64`).
    pub jobs: u32,
    /// Duration of a compilation, in seconds. Default 3 (assumption).
    pub compile_seconds: f64,
    /// Objects of the tree as a share of the root file system. Default 0.3 (assumption).
    pub tree: f64,
    /// Share of the objects that a touched header rebuilds. Default 0.7 (assumption: "a widely
    /// included header").
    pub rebuilt: f64,
    /// Mean size of an object; exponential, in whole pages. Default 48 KiB (assumption).
    pub object: Bytes,
    /// Mean bytes of temporary files per compilation; exponential, in whole pages. Default 256 KiB (assumption,
    /// calibrated on the share of /tmp).
    pub temporary: Bytes,
    /// Share of the temporary files that stay until the iteration ends; the others are deleted with their compilation.
    /// Default 0.6 (assumption, calibrated on the share of /tmp).
    pub kept: f64,
    /// Dirty bytes that the page cache holds. Default 64 MiB (assumption, for a drive scaled down).
    pub page_cache: Bytes,
    /// Seconds after which dirty data is written back. Default 30 (Linux: `dirty_expire_centisecs`).
    pub dirty_expire: f64,
    /// Seconds between commits of a journal. Default 5 (ext4).
    pub commit: f64,
    /// Journal of each file system as a share of the root's. Default 0.01 (ext4: 1 GiB at most).
    pub journal: f64,
    /// Metadata blocks that each file system rewrites repeatedly, as a share of the root. Default 0.003 (assumption:
    /// neighbouring inodes and one directory share blocks; more of it, with its journal, also raises the WAF where each
    /// namespace has a handle).
    pub metadata: f64,
    /// Mean bytes that a compilation swaps out; exponential, in whole pages. Default 0: enough memory.
    pub swapped: Bytes,
    /// Swap area as a share of its namespace. Default 0.07 (the brief: 256 GiB of 3,740 GB).
    pub swap: f64,
    /// Deallocate files when they are deleted (`mount -o discard`). Default false.
    pub discard: bool,
    /// Placement handle of the root file system. Default none: the namespace's first handle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_handle: Option<u16>,
    /// Placement handle of /tmp. Default none: the namespace's first handle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tmp_handle: Option<u16>,
    /// Placement handle of swap. Default none: the namespace's first handle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_handle: Option<u16>,
}

impl Default for KernelBuildConfig {
    fn default() -> Self {
        KernelBuildConfig {
            root: 0.026,
            jobs: 64,
            compile_seconds: 3.0,
            tree: 0.3,
            rebuilt: 0.7,
            object: Bytes(48 << 10),
            temporary: Bytes(256 << 10),
            kept: 0.6,
            page_cache: Bytes(64 << 20),
            dirty_expire: 30.0,
            commit: 5.0,
            journal: 0.01,
            metadata: 0.003,
            swapped: Bytes(0),
            swap: 0.07,
            discard: false,
            root_handle: None,
            tmp_handle: None,
            swap_handle: None,
        }
    }
}

const WHATS: [(What, &str, &str); 5] = [
    (What::Objects, "objects_share", "objects of the tree, of the bytes written"),
    (What::Temporaries, "tmp_share", "temporary files, of the bytes written"),
    (What::Journals, "journal_share", "journals, of the bytes written"),
    (What::Metadata, "metadata_share", "metadata in place, of the bytes written"),
    (What::Swap, "swap_share", "swap, of the bytes written"),
];

/// Metadata blocks changed by creating or deleting a file: inode and directory, occasionally a bitmap.
const TOUCHED: u32 = 2;

impl KernelBuildConfig {
    /// Returns the parts of the root, /tmp and swap.
    fn parts(&self, space: &Space) -> [Part; 3] {
        let part = |namespace: usize, handle| Part {
            namespace: namespace as u8,
            first: 0,
            pages: space.namespaces.get(namespace).map_or(0, |n| n.bytes / PAGE),
            placement: placement(handle),
        };
        let (root, mut rest) = if space.namespaces.len() > 1 {
            (part(0, self.root_handle), part(1, self.tmp_handle))
        } else {
            let mut whole = part(0, self.root_handle);
            let root = whole.split((self.root * whole.pages as f64) as u64);
            (root, Part { placement: placement(self.tmp_handle), ..whole })
        };
        let mut swap = rest.split((self.swap * rest.pages as f64) as u64);
        swap.placement = self.swap_handle.map_or(rest.placement, Placement);
        [root, rest, swap]
    }

    /// Returns the number of objects of the tree.
    fn objects(&self, root: &Part) -> u64 {
        (self.tree * (root.pages * PAGE) as f64 / self.object.0.max(PAGE) as f64) as u64
    }

    fn check(&self, space: &Space) -> Result<[Part; 3], InvalidKey> {
        between("root", self.root, 0.001, 0.9)?;
        between("jobs", self.jobs.into(), 1.0, 4096.0)?;
        between("compile_seconds", self.compile_seconds, 0.001, 1e4)?;
        between("tree", self.tree, 0.001, 0.7)?;
        between("rebuilt", self.rebuilt, 0.001, 1.0)?;
        between("kept", self.kept, 0.0, 1.0)?;
        between("dirty_expire", self.dirty_expire, 0.0, 1e6)?;
        between("commit", self.commit, 0.001, 1e6)?;
        between("journal", self.journal, 0.0001, 0.2)?;
        between("metadata", self.metadata, 0.0001, 0.1)?;
        between("swap", self.swap, 0.0, 0.9)?;
        within("object", self.object, PAGE, 1 << 30)?;
        within("temporary", self.temporary, PAGE, 1 << 30)?;
        let second = usize::from(space.namespaces.len() > 1);
        space.check_handles([
            ("root_handle", 0, self.root_handle),
            ("tmp_handle", second, self.tmp_handle),
            ("swap_handle", second, self.swap_handle),
        ])?;
        let parts = self.parts(space);
        let [root, tmp, swap] = parts;
        InvalidKey::unless(root.pages >= 4096 && tmp.pages >= 8192, "model", || {
            format!(
                "the root file system has {} and /tmp {}; 16MiB and 32MiB at least",
                Bytes(root.pages * PAGE),
                Bytes(tmp.pages * PAGE)
            )
        })?;
        InvalidKey::unless(
            self.objects(&root) >= 8,
            "object",
            || "fewer than 8 objects in the tree",
        )?;
        InvalidKey::unless(
            self.swapped.0 == 0 || swap.pages >= 2 * swap::CLUSTER,
            "swap",
            || "less than two clusters of 1MiB",
        )?;
        let most = swap.pages * PAGE / u64::from(self.jobs) / 4;
        InvalidKey::unless(self.swapped.0 <= most, "swapped", || {
            format!(
                "{} for each of {} jobs do not fit into the swap area; {} at most",
                self.swapped,
                self.jobs,
                Bytes(most)
            )
        })?;
        Ok(parts)
    }
}

impl Configuration for KernelBuildConfig {
    const NAME: &'static str = "kernel-build";
    const SUMMARY: &'static str =
        "Linux kernel, compiled repeatedly: objects, /tmp, journals, page cache, swap";
    type Application = KernelBuild;

    fn memory(&self, space: &Space) -> Result<u64, InvalidKey> {
        let parts = self.check(space)?;
        let areas: u64 = parts.iter().map(|part| Area::memory_bytes(part.pages)).sum();
        Ok(areas + self.objects(&parts[0]) * 64 + parts[2].pages / 64)
    }

    fn application(&self, space: &Space, seed: u64) -> Result<KernelBuild, InvalidKey> {
        KernelBuild::new(self, space, seed)
    }
}

pub(super) struct KernelBuild {
    config: KernelBuildConfig,
    /// Seconds since the start.
    now: f64,
    root: FileSystem,
    tmp: FileSystem,
    /// Metadata of the two file systems.
    metadata: [Metadata; 2],
    swap: Swap,
    /// Object of each source file.
    objects: Vec<Option<FileId>>,
    loaded: usize,
    /// Objects compiled in this iteration, and the first one compiled.
    compiled: usize,
    first: usize,
    running: VecDeque<Running>,
    kept: Vec<FileId>,
    committed: f64,
    iterations: u64,
    compilations: u64,
    sizes: Rng,
    choices: Rng,
    written: [u64; WHATS.len()],
}

/// A running compilation.
struct Running {
    ends: f64,
    /// The temporary file, if it is deleted at the end.
    temporary: Option<FileId>,
    swapped: Vec<u64>,
}

impl KernelBuild {
    fn new(config: &KernelBuildConfig, space: &Space, seed: u64) -> Result<Self, InvalidKey> {
        let [mut root, mut tmp, swap] = config.check(space)?;
        let of_root = |share: f64| ((share * root.pages as f64) as u64).max(16);
        let (journal, blocks) = (of_root(config.journal), of_root(config.metadata));
        let metadata = [&mut root, &mut tmp]
            .map(|part| Metadata::new(part.split(journal), part.split(blocks)));
        let objects = config.objects(&root) as usize;
        Ok(KernelBuild {
            now: 0.0,
            root: FileSystem::new(root, What::Objects),
            tmp: FileSystem::new(tmp, What::Temporaries),
            metadata,
            swap: Swap::new(swap),
            objects: vec![None; objects],
            loaded: 0,
            compiled: 0,
            first: 0,
            running: VecDeque::new(),
            kept: Vec::new(),
            committed: 0.0,
            iterations: 0,
            compilations: 0,
            sizes: rng(seed, 0),
            choices: rng(seed, 1),
            written: [0; WHATS.len()],
            config: config.clone(),
        })
    }

    /// Draws an exponentially distributed number of pages, at least one, for a mean in bytes.
    fn pages(&mut self, mean: Bytes) -> u64 {
        let u = (self.sizes.next64() >> 11) as f64 / (1u64 << 53) as f64;
        let bytes = -libm::log(1.0 - u) * mean.0 as f64;
        ((bytes / PAGE as f64).round() as u64).clamp(1, 16 * mean.0.div_ceil(PAGE))
    }

    /// Replaces the object of a source file.
    fn compile(&mut self, object: usize, out: &mut Vec<Command>) {
        if let Some(old) = self.objects[object].take() {
            self.root.delete(old, self.config.discard, out);
            self.metadata[0].touch(TOUCHED, self.now, &mut self.choices);
        }
        let pages = self.pages(self.config.object);
        self.objects[object] = Some(self.root.create(pages, self.now));
        self.metadata[0].touch(TOUCHED, self.now, &mut self.choices);
    }

    fn end_compilations(&mut self, out: &mut Vec<Command>) {
        while self.running.front().is_some_and(|r| r.ends <= self.now) {
            let Some(ended) = self.running.pop_front() else { break };
            if let Some(file) = ended.temporary {
                self.tmp.delete(file, self.config.discard, out);
                self.metadata[1].touch(TOUCHED, self.now, &mut self.choices);
            }
            self.swap.free(&ended.swapped);
        }
    }

    /// Writes back the page cache, and commits journals.
    fn write_back(&mut self, out: &mut Vec<Command>) {
        let before = self.now - self.config.dirty_expire;
        let limit = self.config.page_cache.0 / PAGE;
        let mut dirty = self.root.dirty() + self.tmp.dirty();
        loop {
            // The file system with the oldest dirty file.
            let (root, tmp) = (self.root.oldest(), self.tmp.oldest());
            let system = if root.unwrap_or(f64::MAX) <= tmp.unwrap_or(f64::MAX) {
                &mut self.root
            } else {
                &mut self.tmp
            };
            match system.oldest() {
                Some(since) if since <= before || dirty > limit => {}
                _ => break,
            }
            let start = out.len();
            system.write_oldest(out);
            let bytes: u64 = out[start..].iter().map(Command::bytes).sum();
            self.written[system.what() as usize] += bytes;
            dirty = self.root.dirty() + self.tmp.dirty();
        }
        let commit = self.now - self.committed >= self.config.commit;
        if commit {
            self.committed = self.now;
        }
        for metadata in &mut self.metadata {
            if commit {
                self.written[What::Journals as usize] += metadata.commit(out);
            }
            self.written[What::Metadata as usize] += metadata.write_expired(before, out);
        }
    }

    /// Ends an iteration: deletes its kept files, and begins the next elsewhere in the tree.
    fn next_iteration(&mut self, out: &mut Vec<Command>) {
        for file in std::mem::take(&mut self.kept) {
            self.tmp.delete(file, self.config.discard, out);
            self.metadata[1].touch(TOUCHED, self.now, &mut self.choices);
        }
        self.iterations += 1;
        self.compiled = 0;
        self.first = self.choices.below(self.objects.len() as u64) as usize;
    }
}

impl Application for KernelBuild {
    fn load(&mut self, out: &mut Vec<Command>) -> bool {
        if self.loaded == self.objects.len() {
            return false;
        }
        let before = out.len();
        while self.loaded < self.objects.len() && out.len() == before {
            self.compile(self.loaded, out);
            self.loaded += 1;
            self.now += self.config.compile_seconds / f64::from(self.config.jobs);
            if self.loaded == self.objects.len() {
                self.now += self.config.dirty_expire;
            }
            self.write_back(out);
        }
        true
    }

    fn step(&mut self, out: &mut Vec<Command>) {
        self.now += self.config.compile_seconds / f64::from(self.config.jobs);
        self.end_compilations(out);
        let object = (self.first + self.compiled) % self.objects.len();
        self.compile(object, out);
        let pages = self.pages(self.config.temporary);
        let file = self.tmp.create(pages, self.now);
        self.metadata[1].touch(TOUCHED, self.now, &mut self.choices);
        let keep = chance(&mut self.choices, self.config.kept);
        if keep {
            self.kept.push(file);
        }
        let mut swapped = Vec::new();
        if self.config.swapped.0 > 0 {
            let pages = self.pages(self.config.swapped);
            self.written[What::Swap as usize] += self.swap.out(pages, &mut swapped, out);
        }
        let ends = self.now + self.config.compile_seconds;
        self.running.push_back(Running { ends, temporary: (!keep).then_some(file), swapped });
        self.compilations += 1;
        self.compiled += 1;
        let all = (self.config.rebuilt * self.objects.len() as f64).ceil() as usize;
        if self.compiled >= all {
            self.next_iteration(out);
        }
        self.write_back(out);
    }

    fn figures(&self) -> Vec<Figure> {
        let total = self.written.iter().sum();
        let shares = WHATS
            .iter()
            .map(|(what, name, meaning)| ratio(name, self.written[*what as usize], total, meaning));
        let (created, never) = self.tmp.counts();
        let mut figures: Vec<Figure> = shares.collect();
        figures.extend([
            ratio(
                "tmp_never_written",
                never,
                created,
                "share of the temporary files that were deleted before they were written back",
            ),
            count("iterations", self.iterations, "", "builds"),
            count("compilations", self.compilations, "", "files compiled"),
            count(
                "without_room",
                self.root.without_room() + self.tmp.without_room(),
                "files",
                "files for which the file system had no room",
            ),
        ]);
        figures
    }
}

#[cfg(test)]
mod tests;
