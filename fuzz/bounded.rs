//! Bounded fuzzing for `cargo test`: runs the committed seeds, then mutations of them for a few seconds.
//! Shared by `crates/wafer-target/tests/fuzz.rs` and `crates/wafer-cli/tests/fuzz.rs`.
//!
//! `WAFER_FUZZ_SECONDS` sets the time for each target. `WAFER_FUZZ_SAVE=1` saves inputs that reach new behaviour
//! as seeds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};

pub(crate) type Signature = BTreeSet<(u8, u16, u16)>;

/// Reads the seeds of a target, in the order of their names.
fn seeds(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Runs the seeds of `target`, `more` inputs, and mutations of all for `seconds`.
pub(crate) fn fuzz(target: &str, run: fn(&[u8]) -> Signature, more: Vec<Vec<u8>>, seconds: u64) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let asked = std::env::var("WAFER_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let save = std::env::var_os("WAFER_FUZZ_SAVE").is_some();
    // Fewer would say nothing. A drive takes the longest, a tenth of a second on a busy machine.
    const LEAST: u64 = 20;
    // Limits the number of seeds.
    const MOST: usize = 150;
    let mut inputs = seeds(&folder);
    if save {
        std::fs::create_dir_all(&folder).unwrap();
        for (number, input) in more.iter().enumerate() {
            std::fs::write(folder.join(format!("valid-{number}")), input).unwrap();
        }
    }
    inputs.extend(more);
    assert!(save || inputs.len() >= 5, "{target} has too few seeds: {}", inputs.len());
    let mut seen = BTreeSet::new();
    for input in &inputs {
        seen.extend(run(input));
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(std::process::id().into());
    let end = Instant::now() + Duration::from_secs(asked.unwrap_or(seconds));
    let mut runs = 0u64;
    while Instant::now() < end {
        let of = |rng: &mut Xoshiro256PlusPlus| (rng.next_u64() % inputs.len() as u64) as usize;
        let (a, b) = (of(&mut rng), of(&mut rng));
        let input = mutate(&inputs[a], &inputs[b], &mut rng);
        // Saves an input that panics.
        let Ok(signature) = std::panic::catch_unwind(|| run(&input)) else {
            let path = folder.join(format!("crash-{:08x}", rng.next_u64() as u32));
            std::fs::write(&path, &input).unwrap();
            panic!("{target} panicked; the input is in {}", path.display());
        };
        let before = seen.len();
        seen.extend(signature);
        if seen.len() > before {
            if save && inputs.len() < MOST {
                let name = format!("{:04}", inputs.len());
                std::fs::write(folder.join(name), &input).unwrap();
            }
            inputs.push(input);
        }
        runs += 1;
    }
    eprintln!("{target}: {runs} inputs, {} distinct outcomes", seen.len());
    assert!(runs > LEAST, "{target}: only {runs} inputs within the time limit");
}

/// Applies one to five random mutations to an input.
fn mutate(input: &[u8], other: &[u8], rng: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let below =
        |rng: &mut Xoshiro256PlusPlus, n: usize| (rng.next_u64() % n.max(1) as u64) as usize;
    for _ in 0..=below(rng, 4) {
        let at = below(rng, bytes.len());
        match below(rng, 8) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] ^= 1 << below(rng, 8),
            2 if !bytes.is_empty() => bytes[at] = rng.next_u64() as u8,
            3 if !bytes.is_empty() => bytes[at] = [0, 1, 2, 0x7f, 0x80, 0xff][below(rng, 6)],
            4 => {
                let (from, length) = (below(rng, other.len()), below(rng, 200));
                let part = &other[from..(from + length).min(other.len())];
                bytes.splice(at..at, part.iter().copied());
            }
            5 => {
                let length = below(rng, 100).min(bytes.len() - at);
                bytes.drain(at..at + length);
            }
            6 => {
                let length = below(rng, 300).min(bytes.len() - at);
                let part = bytes[at..at + length].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                // Writes a boundary value over four bytes: a length, an offset, a dword.
                let number = [0, 1, 0xffff, 0x10000, 0x7fff_ffff, u32::MAX][below(rng, 6)];
                if let Some(slot) = bytes.get_mut(at..at + 4) {
                    slot.copy_from_slice(&u32::to_le_bytes(number));
                }
            }
        }
        bytes.truncate(60_000);
    }
    bytes
}
