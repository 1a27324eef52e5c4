//! Kernel build: `make -jN` again and again, after touching a header that much of the tree includes.
//!
//! KIOXIA's performance brief on the XD8 (2025): Linux 6.12.1 with `make -j64`, the root file system on
//! one namespace, /tmp and swap on another, 128 GB of memory or 8 GB.
//!
//! What it follows: every compilation makes a temporary file in /tmp and an object in the tree. Files
//! are dirty in the page cache first and get their place when they are written back (delayed
//! allocation): after `dirty_expire`, or when more than `page_cache` is dirty. So a file deleted before
//! never reaches the drive. Places are taken by next fit, which circulates through the file system.
//! Each file system has a journal, a ring, written every `commit` with the metadata blocks that
//! changed, and writes these in place when they have been dirty for `dirty_expire`. Under a memory limit
//! processes are swapped out; slots come from clusters of 256 pages, as in the kernel's swap allocation
//! (mm/swapfile.c), and are free again when the process ends.
//!
//! The brief says nothing of sizes, shares or lifetimes: those are assumptions, calibrated so that
//! the shares of the bytes come out as stated in docs/studies/models.md.

mod files;
mod metadata;
mod swap;

use files::{FileId, FileSystem};
use metadata::Metadata;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swap::Swap;
use toml::Table;
use wafer_interface::{Bytes, Command, CommandStream, Figure, Op, Placement};
use wafer_random::{Purpose, Rng};

use super::application::{Application, Steps, command, placement};
use super::area::Area;
use super::interface::{Model, ModelError, ModelInfo, Space, between};

pub(super) const INFO: ModelInfo = ModelInfo {
    name: "kernel-build",
    summary: "Linux kernel compiled again and again: objects, /tmp, journals, page cache, swap",
    make: super::interface::read::<KernelBuildConfig>,
    defaults: super::interface::defaults::<KernelBuildConfig>,
    schema: KernelBuildConfig::json_schema,
    paths: &[],
};

/// Compilation of the Linux kernel again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KernelBuildConfig {
    /// With a single namespace, the share of it that the root file system has; with two the first is
    /// the root, the second has /tmp and swap. Default 0.026 (the brief: 100 of 3,840 GB).
    pub root: f64,
    /// Compilations at the same time. Default 64 (the brief: `make -j64`).
    pub jobs: u32,
    /// Seconds of a compilation. Default 3 (assumption).
    pub compile_seconds: f64,
    /// Objects of the tree as a share of the root file system. Default 0.3 (assumption).
    pub tree: f64,
    /// Share of the objects that a touched header makes anew. Default 0.7 (assumption: "a widely
    /// included header").
    pub rebuilt: f64,
    /// Mean bytes of an object; exponential, whole pages. Default 48 KiB (assumption).
    pub object: Bytes,
    /// Mean bytes of temporary files of a compilation; exponential, whole pages. Default 256 KiB
    /// (assumption, calibrated on the share of /tmp).
    pub temporary: Bytes,
    /// Share of the temporary files that stay until the iteration ends; the others go with their
    /// compilation. Default 0.6 (assumption, calibrated on the share of /tmp).
    pub kept: f64,
    /// Dirty bytes that the page cache holds. Default 64 MiB (assumption, for a drive scaled down).
    pub page_cache: Bytes,
    /// Seconds after which dirty data is written back. Default 30 (Linux: `dirty_expire_centisecs`).
    pub dirty_expire: f64,
    /// Seconds between commits of a journal. Default 5 (ext4).
    pub commit: f64,
    /// Journal of each file system as a share of the root's. Default 0.01 (ext4: 1 GiB at most).
    pub journal: f64,
    /// Metadata blocks that each file system writes again and again, as a share of the root. Default
    /// 0.003 (assumption: neighbouring inodes and one directory share blocks; more of it, with its
    /// journal, raises WAF also where each namespace has a handle).
    pub metadata: f64,
    /// Bytes that a compilation swaps out, mean; exponential, whole pages. Default 0: enough memory.
    pub swapped: Bytes,
    /// Swap area as a share of its namespace. Default 0.07 (the brief: 256 GiB of 3,740 GB).
    pub swap: f64,
    /// Deallocate files as they are deleted (`mount -o discard`). Default false.
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

/// What is written, for the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Objects,
    Temporaries,
    Journals,
    Metadata,
    Swap,
}

const WHATS: [(What, &str, &str); 5] = [
    (What::Objects, "objects_share", "objects of the tree, of the bytes written"),
    (What::Temporaries, "tmp_share", "temporary files, of the bytes written"),
    (What::Journals, "journal_share", "journals, of the bytes written"),
    (What::Metadata, "metadata_share", "metadata in place, of the bytes written"),
    (What::Swap, "swap_share", "swap, of the bytes written"),
];

/// A part of a namespace, in pages of [`PAGE`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    namespace: u8,
    first: u64,
    pages: u64,
    placement: Placement,
}

impl Part {
    /// Splits so many pages off the front.
    fn split(&mut self, pages: u64) -> Part {
        let pages = pages.min(self.pages);
        let front = Part { pages, ..*self };
        self.first += pages;
        self.pages -= pages;
        front
    }

    fn command(&self, op: Op, first: u64, pages: u64) -> Command {
        assert!(first + pages <= self.pages);
        command(op, self.namespace, (self.first + first) * PAGE, pages * PAGE, self.placement)
    }
}

/// Bytes that caches and swap work in.
const PAGE: u64 = 4096;
/// Metadata blocks that a file's creation or deletion changes: inode and directory, a bitmap now and then.
const TOUCHED: u32 = 2;

impl KernelBuildConfig {
    /// Root, /tmp and swap.
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

    /// Objects of the tree.
    fn objects(&self, root: &Part) -> u64 {
        (self.tree * (root.pages * PAGE) as f64 / self.object.0.max(PAGE) as f64) as u64
    }

    fn check(&self, space: &Space) -> Result<[Part; 3], ModelError> {
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
        for (key, bytes) in [("object", self.object), ("temporary", self.temporary)] {
            if !(PAGE..=1 << 30).contains(&bytes.0) {
                return Err(ModelError::new(key, format!("{bytes} is not between 4KiB and 1GiB")));
            }
        }
        let second = usize::from(space.namespaces.len() > 1);
        let handles = [
            ("root_handle", 0, self.root_handle),
            ("tmp_handle", second, self.tmp_handle),
            ("swap_handle", second, self.swap_handle),
        ];
        for (key, namespace, handle) in handles {
            if let Some(handle) = handle {
                space.check_handle(key, namespace, handle)?;
            }
        }
        let parts = self.parts(space);
        if parts[0].pages < 4096 || parts[1].pages < 8192 {
            let message = format!(
                "the root file system has {} and /tmp {}; 16MiB and 32MiB at least",
                Bytes(parts[0].pages * PAGE),
                Bytes(parts[1].pages * PAGE)
            );
            return Err(ModelError::new("model", message));
        }
        if self.objects(&parts[0]) < 8 {
            return Err(ModelError::new("object", "fewer than 8 objects in the tree"));
        }
        if self.swapped.0 > 0 && parts[2].pages < 2 * swap::CLUSTER {
            return Err(ModelError::new("swap", "less than two clusters of 1MiB"));
        }
        let most = parts[2].pages * PAGE / u64::from(self.jobs) / 4;
        if self.swapped.0 > most {
            let message = format!(
                "{} for each of {} jobs do not fit into the swap area; {} at most",
                self.swapped,
                self.jobs,
                Bytes(most)
            );
            return Err(ModelError::new("swapped", message));
        }
        Ok(parts)
    }
}

impl Model for KernelBuildConfig {
    fn memory_bytes(&self, space: &Space) -> u64 {
        let parts = self.parts(space);
        let areas: u64 = parts.iter().map(|part| Area::memory_bytes(part.pages)).sum();
        areas + self.objects(&parts[0]) * 64 + parts[2].pages / 64
    }

    fn start(&self, space: &Space, seed: u64) -> Result<Box<dyn CommandStream>, ModelError> {
        Ok(Box::new(Steps::new(KernelBuild::new(self, space, seed)?)))
    }

    fn parameters(&self) -> Table {
        super::interface::table(self)
    }
}

struct KernelBuild {
    config: KernelBuildConfig,
    /// Seconds since the start.
    now: f64,
    root: FileSystem,
    tmp: FileSystem,
    /// Metadata of both.
    metadata: [Metadata; 2],
    swap: Swap,
    /// Object of each source file.
    objects: Vec<Option<FileId>>,
    loaded: usize,
    /// Objects compiled in this iteration, and the order in which the tree is walked.
    compiled: usize,
    first: usize,
    /// Compilations that run: when they end, their temporary file if it goes with them, their swap.
    running: std::collections::VecDeque<Running>,
    kept: Vec<FileId>,
    committed: f64,
    iterations: u64,
    compilations: u64,
    sizes: Rng,
    choices: Rng,
    written: [u64; WHATS.len()],
}

struct Running {
    ends: f64,
    temporary: Option<FileId>,
    swapped: Vec<u64>,
}

impl KernelBuild {
    fn new(config: &KernelBuildConfig, space: &Space, seed: u64) -> Result<Self, ModelError> {
        let [mut root, mut tmp, swap] = config.check(space)?;
        let rng = |sub| Rng::new(seed, 0, Purpose::Application, sub);
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
            running: std::collections::VecDeque::new(),
            kept: Vec::new(),
            committed: 0.0,
            iterations: 0,
            compilations: 0,
            sizes: rng(0),
            choices: rng(1),
            written: [0; WHATS.len()],
            config: config.clone(),
        })
    }

    /// An exponential number of pages with this mean of bytes, at least one.
    fn pages(&mut self, mean: Bytes) -> u64 {
        let u = (self.sizes.next64() >> 11) as f64 / (1u64 << 53) as f64;
        let bytes = -libm::log(1.0 - u) * mean.0 as f64;
        ((bytes / PAGE as f64).round() as u64).clamp(1, 16 * mean.0.div_ceil(PAGE))
    }

    /// A share of the time.
    fn chance(&mut self, share: f64) -> bool {
        u64::from(self.choices.next32()) < (share * 4_294_967_296.0) as u64
    }

    /// The object of a source file is made anew.
    fn compile(&mut self, object: usize, out: &mut Vec<Command>) {
        if let Some(old) = self.objects[object].take() {
            self.root.delete(old, self.config.discard, out);
            self.metadata[0].touch(TOUCHED, self.now, &mut self.choices);
        }
        let pages = self.pages(self.config.object);
        self.objects[object] = Some(self.root.create(pages, self.now));
        self.metadata[0].touch(TOUCHED, self.now, &mut self.choices);
    }

    /// Compilations that have ended.
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

    /// The page cache writes back, journals commit.
    fn write_back(&mut self, out: &mut Vec<Command>) {
        let before = self.now - self.config.dirty_expire;
        let limit = self.config.page_cache.0 / PAGE;
        let mut dirty = self.root.dirty() + self.tmp.dirty();
        loop {
            // The one that was dirty first.
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

    /// All that an iteration rebuilds has been: its kept files go, the next begins elsewhere.
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
        let keep = self.chance(self.config.kept);
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
        let total = self.written.iter().sum::<u64>().max(1) as f64;
        let shares = WHATS.iter().map(|(what, name, meaning)| {
            Figure::new(name, self.written[*what as usize] as f64 / total, "", meaning)
        });
        let (created, never) = self.tmp.counts();
        let mut figures: Vec<Figure> = shares.collect();
        figures.extend([
            Figure::new(
                "tmp_never_written",
                never as f64 / created.max(1) as f64,
                "",
                "share of the temporary files that were deleted before they were written back",
            ),
            Figure::new("iterations", self.iterations as f64, "", "builds"),
            Figure::new("compilations", self.compilations as f64, "", "files compiled"),
            Figure::new(
                "without_room",
                (self.root.without_room() + self.tmp.without_room()) as f64,
                "files",
                "files for which the file system had no room",
            ),
        ]);
        figures
    }
}

#[cfg(test)]
mod tests;
