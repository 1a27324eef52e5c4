//! Sessions of hostile hosts: the corpus, and so many inputs made of it.
//!
//! `WAFER_FUZZ_SECONDS=600 cargo test --release -p wafer-target --test fuzz` goes on for longer;
//! `WAFER_FUZZ_SAVE=1` adds inputs that reach something new to `tests/corpus`. `fuzz/` has the same for
//! cargo-fuzz.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};
use wafer_spec::zerocopy::IntoBytes as _;
use wafer_spec::*;
use wafer_target::fuzzing::{capsule, opening, piece, run};

fn corpus_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = std::fs::read_dir(corpus_folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_none())
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read(&path).unwrap(),
            )
        })
        .collect();
    all.sort();
    all
}

/// Every admin and I/O command once, as a host that means well sends them.
fn well_meant() -> Vec<Vec<u8>> {
    let admin = |opcode: AdminOpcode, cdw10: u32, cdw11: u32, nsid: u32| Sqe {
        opcode: opcode.0,
        flags: 0x40,
        nsid: nsid.into(),
        cdw10: cdw10.into(),
        cdw11: cdw11.into(),
        sgl: Sgl::transport(8192),
        ..Default::default()
    };
    let mut first = piece(0, &opening(0, 0xffff));
    for cns in 0..0x20 {
        first.extend(piece(0, &capsule(&admin(AdminOpcode::IDENTIFY, cns, 0, 1), &[])));
    }
    let mut logs = piece(0, &opening(0, 0xffff));
    for lid in [0, 1, 2, 3, 4, 5, 9, 0x12, 0x20, 0x21, 0x22, 0x23, 0xc0, 0x70] {
        let sqe = admin(AdminOpcode::GET_LOG_PAGE, lid | 0xff << 16, 1 << 16, 0);
        logs.extend(piece(0, &capsule(&sqe, &[])));
    }
    let mut features = piece(0, &opening(0, 0xffff));
    for fid in 0..0x20 {
        features.extend(piece(0, &capsule(&admin(AdminOpcode::GET_FEATURES, fid, 1, 1), &[])));
        let set = admin(AdminOpcode::SET_FEATURES, fid, 1 | 2 << 16, 1);
        features.extend(piece(0, &capsule(&set, &[0; 512])));
    }
    let mut manage = piece(0, &opening(0, 0xffff));
    let delete = admin(AdminOpcode::NAMESPACE_MANAGEMENT, 1, 0, 1);
    manage.extend(piece(0, &capsule(&delete, &[])));
    let mut create = NamespaceCreate { nsze: 512.into(), ncap: 512.into(), ..Default::default() };
    (create.flbas, create.nphndls) = (1, 2.into());
    create.phndl[1] = 1.into();
    let sqe = admin(AdminOpcode::NAMESPACE_MANAGEMENT, 0, 0, 0);
    manage.extend(piece(0, &capsule(&sqe, create.as_bytes())));
    let mut list = ControllerList { count: 1.into(), ..Default::default() };
    list.ids[0] = 2.into();
    let sqe = admin(AdminOpcode::NAMESPACE_ATTACHMENT, 0, 0, 1);
    manage.extend(piece(0, &capsule(&sqe, list.as_bytes())));
    for sqe in [
        admin(AdminOpcode::FORMAT_NVM, 1, 0, 1),
        admin(AdminOpcode::DIRECTIVE_RECEIVE, 1023, 1, 1),
        admin(AdminOpcode::ASYNC_EVENT_REQUEST, 0, 0, 0),
        admin(AdminOpcode::ABORT, 0, 0, 0),
        admin(AdminOpcode::KEEP_ALIVE, 0, 0, 0),
    ] {
        manage.extend(piece(0, &capsule(&sqe, &[])));
    }
    // The bystander has controller 1.
    let mut io = piece(0, &opening(0, 0xffff));
    io.extend(piece(1, &opening(1, 2)));
    let command = |opcode: NvmOpcode, cdw10: u32, cdw12: u32, cid: u16| Sqe {
        opcode: opcode.0,
        flags: 0x40,
        cid: cid.into(),
        nsid: 1.into(),
        cdw10: cdw10.into(),
        cdw12: cdw12.into(),
        cdw13: 0x1_0000.into(),
        sgl: Sgl::transport(8192),
        ..Default::default()
    };
    let placed = |nlb_z: u32| nlb_z | 2 << 20;
    io.extend(piece(1, &capsule(&command(NvmOpcode::WRITE, 8, placed(7), 1), &[5; 4096])));
    io.extend(piece(1, &capsule(&command(NvmOpcode::WRITE, 3, placed(0), 2), &[6; 512])));
    for (opcode, cdw10, cdw12, data) in [
        (NvmOpcode::READ, 8, 7, 0),
        (NvmOpcode::FLUSH, 0, 0, 0),
        (NvmOpcode::WRITE_ZEROES, 16, 0x0200_0003, 0),
        (NvmOpcode::COMPARE, 8, 0, 512),
        (NvmOpcode::VERIFY, 8, 3, 0),
        (NvmOpcode::DATASET_MANAGEMENT, 1, 0, 32),
        (NvmOpcode::COPY, 64, 1, 64),
        (NvmOpcode::IO_MANAGEMENT_RECEIVE, 1, 0, 0),
        (NvmOpcode::IO_MANAGEMENT_SEND, 1, 0, 2),
    ] {
        let data = vec![0; data];
        io.extend(piece(1, &capsule(&command(opcode, cdw10, cdw12, 3), &data)));
    }
    // 8 KiB that are asked for with R2T, in two PDUs.
    io.extend(piece(1, &capsule(&command(NvmOpcode::WRITE, 0, 15, 4), &[])));
    for (at, last) in [(0u32, false), (4096, true)] {
        let pdu = DataPdu {
            header: PduHeader {
                pdu_type: PduType::H2C_DATA.0,
                flags: PduFlags::new().with_last(last).into_bits(),
                hlen: 24,
                pdo: 24,
                plen: (24 + 4096).into(),
            },
            cccid: 4.into(),
            ttag: 0.into(),
            datao: at.into(),
            datal: 4096.into(),
            ..Default::default()
        };
        io.extend(piece(1, &[pdu.as_bytes(), &[8; 4096]].concat()));
    }
    vec![first, logs, features, manage, io]
}

/// Changes an input in one to a few places.
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
                // A number of four bytes somewhere: lengths, offsets, dwords.
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

#[test]
fn sessions_that_mean_well_are_answered() {
    let all: Vec<_> = well_meant().iter().map(|input| run(input)).collect();
    let has = |at: usize, note| assert!(all[at].contains(&note), "{at}: {:?}", all[at]);
    // Identify and logs answer 4 KiB, I/O reads, R2T.
    has(0, (PduType::C2H_DATA.0, 0, 8));
    has(1, (PduType::C2H_DATA.0, 0, 2));
    has(4, (PduType::C2H_DATA.0, 0, 8));
    has(4, (PduType::R2T.0, 0, 16));
    for signature in &all {
        assert!(signature.contains(&(PduType::CAPSULE_RESP.0, 0, 0)));
        assert!(!signature.iter().any(|note| note.0 == PduType::C2H_TERM_REQ.0), "{signature:?}");
    }
}

#[test]
fn the_corpus_and_what_is_made_of_it() {
    let seconds = std::env::var("WAFER_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok());
    let save = std::env::var_os("WAFER_FUZZ_SAVE").is_some();
    let committed = corpus();
    assert!(save || committed.len() >= 20, "the corpus is there");
    let mut inputs: Vec<Vec<u8>> = committed.into_iter().map(|(_, bytes)| bytes).collect();
    inputs.extend(well_meant());
    let mut seen = BTreeSet::new();
    for input in &inputs {
        seen.extend(run(input));
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(std::process::id().into());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(20));
    let mut runs = 0u64;
    while Instant::now() < end {
        let of = |rng: &mut Xoshiro256PlusPlus| (rng.next_u64() % inputs.len() as u64) as usize;
        let (a, b) = (of(&mut rng), of(&mut rng));
        let input = mutate(&inputs[a], &inputs[b], &mut rng);
        // What makes it panic must not be lost.
        let result = std::panic::catch_unwind(|| run(&input));
        let Ok(signature) = result else {
            let path = corpus_folder().join(format!("crash-{runs}"));
            std::fs::write(&path, &input).unwrap();
            panic!("an input that breaks the target is in {}", path.display());
        };
        let before = seen.len();
        seen.extend(signature);
        if seen.len() > before {
            if save {
                std::fs::write(corpus_folder().join(format!("{:04}", inputs.len())), &input)
                    .unwrap();
            }
            inputs.push(input);
        }
        runs += 1;
    }
    eprintln!("{runs} inputs, {} different answers", seen.len());
    assert!(runs > 100, "only {runs} inputs in the time");
}
