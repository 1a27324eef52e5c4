//! Transactions between the two ends.

use proptest::prelude::*;
use wafer_auth::{Controller, Credentials, Group, Hash, Host, Secret, SecretError};
use wafer_nvme::auth::Explanation;

const HOST: &str = "nqn.2026-11.io.wafer:host";
const SUBSYSTEM: &str = "nqn.2026-11.io.wafer:test";
const FIRST: &str = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";
const SECOND: &str =
    "DHHC-1:02:ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1+f4CBgoOEhYaHiImKi4yNjo+QkZKTvGwQfg==:";
const THIRD: &str = "DHHC-1:03:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P4zODhA=:";
const MOST: usize = 4096;

/// Returns a source of repeatable bytes.
fn entropy(seed: u64) -> impl FnMut(&mut [u8]) {
    let mut state = seed;
    move |bytes| {
        for byte in bytes {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 56) as u8;
        }
    }
}

fn secret(text: &str) -> Secret {
    text.parse().unwrap()
}

fn credentials(host: &str, controller: Option<&str>) -> Credentials {
    Credentials {
        secret: secret(host),
        controller_secret: controller.map(secret),
        hash: None,
        group: None,
    }
}

fn host(key: &str, controller: Option<&str>) -> Host {
    Host::new(HOST, SUBSYSTEM, secret(key), controller.map(secret), 9)
}

/// Runs a whole transaction. Returns the reason if the host sees a failure.
fn run(
    controller: &mut Controller,
    credentials: &Credentials,
    host: &mut Host,
    hashes: &[Hash],
    groups: &[Group],
    seed: u64,
) -> Result<(), Explanation> {
    let mut entropy = entropy(seed);
    controller.send(&host.negotiate(hashes, groups), Some(credentials), &mut entropy);
    let reply = host.reply(&controller.receive(MOST).unwrap(), &mut entropy)?;
    controller.send(&reply, Some(credentials), &mut entropy);
    match host.success(&controller.receive(MOST).unwrap()) {
        Ok(None) => Ok(()),
        Ok(Some(last)) => {
            assert!(!controller.is_authenticated(), "the host has not accepted the controller yet");
            controller.send(&last, Some(credentials), &mut entropy);
            Ok(())
        }
        Err(explanation) => {
            controller.send(&host.failure(explanation), Some(credentials), &mut entropy);
            Err(explanation)
        }
    }
}

#[test]
fn every_hash_and_group_authenticates_both_ends() {
    for hash in Hash::ALL {
        for group in Group::ALL {
            for own in [None, Some(THIRD)] {
                let mut controller = Controller::new(HOST, SUBSYSTEM);
                assert_eq!((controller.is_authenticated(), controller.owed()), (false, Some(0)));
                let known = credentials(SECOND, Some(THIRD));
                let mut host = host(SECOND, own);
                run(&mut controller, &known, &mut host, &[hash], &[group], 1).unwrap();
                assert!(controller.is_authenticated(), "{hash:?} {group:?}");
                assert!(controller.owed().is_none() && !controller.has_failed());
            }
        }
    }
}

#[test]
fn a_wrong_secret_of_either_end_ends_the_transaction() {
    for group in [Group::Null, Group::Ffdhe2048] {
        for (host_has, host_expects, controller_has) in
            [(FIRST, None, None), (SECOND, Some(SECOND), Some(THIRD)), (SECOND, Some(THIRD), None)]
        {
            let mut controller = Controller::new(HOST, SUBSYSTEM);
            let known = credentials(SECOND, controller_has);
            let mut host = host(host_has, host_expects);
            let done = run(&mut controller, &known, &mut host, &Hash::ALL, &[group], 1);
            assert_eq!(done, Err(Explanation::FAILED));
            assert!(!controller.is_authenticated() && controller.has_failed());
        }
    }
}

#[test]
fn the_controller_chooses_what_it_must_and_the_first_otherwise() {
    let chosen = |hash, group, hashes: &[Hash], groups: &[Group]| {
        let known = Credentials { hash, group, ..credentials(FIRST, None) };
        let mut controller = Controller::new(HOST, SUBSYSTEM);
        let mut host = host(FIRST, None);
        controller.send(&host.negotiate(hashes, groups), Some(&known), &mut entropy(1));
        let challenge = controller.receive(MOST).unwrap();
        host.reply(&challenge, &mut entropy(2)).map(|_| (challenge[8], challenge[9]))
    };
    let all = (&Hash::ALL, &Group::ALL);
    assert_eq!(chosen(None, None, all.0, all.1), Ok((1, 0)));
    assert_eq!(chosen(None, None, &[Hash::Sha512], &[Group::Ffdhe3072]), Ok((3, 2)));
    assert_eq!(chosen(Some(Hash::Sha384), Some(Group::Ffdhe4096), all.0, all.1), Ok((2, 3)));
    let lacks = chosen(Some(Hash::Sha384), None, &[Hash::Sha256], all.1);
    assert_eq!(lacks, Err(Explanation::HASH_NOT_USABLE));
    let lacks = chosen(None, Some(Group::Ffdhe2048), all.0, &[Group::Null]);
    assert_eq!(lacks, Err(Explanation::GROUP_NOT_USABLE));
    assert_eq!(chosen(None, None, &[], all.1), Err(Explanation::HASH_NOT_USABLE));
    assert_eq!(chosen(None, None, all.0, &[]), Err(Explanation::GROUP_NOT_USABLE));
}

#[test]
fn a_host_authenticates_again_with_a_new_secret_and_stays_authenticated_meanwhile() {
    let mut controller = Controller::new(HOST, SUBSYSTEM);
    let offers = (&Hash::ALL[..], &[Group::Null][..]);
    let mut first = host(FIRST, None);
    run(&mut controller, &credentials(FIRST, None), &mut first, offers.0, offers.1, 1).unwrap();
    let known = credentials(SECOND, None);
    let mut second = host(SECOND, None);
    controller.send(&second.negotiate(offers.0, offers.1), Some(&known), &mut entropy(2));
    assert!(controller.is_authenticated() && controller.owed().is_some());
    let reply = second.reply(&controller.receive(MOST).unwrap(), &mut entropy(3)).unwrap();
    controller.send(&reply, Some(&known), &mut entropy(4));
    assert_eq!(second.success(&controller.receive(MOST).unwrap()), Ok(None));
    assert!(controller.is_authenticated() && controller.owed().is_none());
    // The previous secret is no longer accepted.
    let mut first = host(FIRST, None);
    let done = run(&mut controller, &known, &mut first, offers.0, offers.1, 5);
    assert_eq!(done, Err(Explanation::FAILED));
    assert!(!controller.is_authenticated() && controller.has_failed());
}

#[test]
fn a_reply_cannot_be_used_twice() {
    let known = credentials(FIRST, None);
    let mut controller = Controller::new(HOST, SUBSYSTEM);
    let mut host = host(FIRST, None);
    let negotiate = host.negotiate(&Hash::ALL, &[Group::Null]);
    controller.send(&negotiate, Some(&known), &mut entropy(1));
    let reply = host.reply(&controller.receive(MOST).unwrap(), &mut entropy(2)).unwrap();
    // To another challenge.
    controller.send(&negotiate, Some(&known), &mut entropy(3));
    controller.receive(MOST).unwrap();
    controller.send(&reply, Some(&known), &mut entropy(4));
    assert_eq!(controller.failure(), Some(Explanation::FAILED));
    assert!(!controller.is_authenticated() && !controller.has_failed(), "the host is to be told");
    controller.receive(MOST).unwrap();
    assert!(controller.has_failed());
    // Nothing revives it.
    controller.send(&negotiate, Some(&known), &mut entropy(5));
    assert!(controller.has_failed());
}

#[test]
fn transactions_without_success_are_few() {
    let known = credentials(FIRST, None);
    let offers = (&Hash::ALL[..], &[Group::Null][..]);
    let mut controller = Controller::new(HOST, SUBSYSTEM);
    for seed in 0..20 {
        // Those that succeed do not count.
        let mut end = host(FIRST, None);
        run(&mut controller, &known, &mut end, offers.0, offers.1, seed).unwrap();
    }
    let negotiate = host(FIRST, None).negotiate(offers.0, offers.1);
    for attempt in 1..6 {
        controller.send(&negotiate, Some(&known), &mut entropy(attempt));
        let failure = (attempt == 5).then_some(Explanation::FAILED);
        assert_eq!(controller.failure(), failure, "{attempt}");
    }
    assert!(!controller.is_authenticated());
}

#[test]
fn what_is_out_of_order_or_malformed_is_explained() {
    let known = credentials(FIRST, Some(SECOND));
    let offer = |host: &Host| host.negotiate(&Hash::ALL, &[Group::Null]);
    let explained = |messages: &[&[u8]], known: Option<&Credentials>| {
        let mut controller = Controller::new(HOST, SUBSYSTEM);
        for message in messages {
            controller.send(message, known, &mut entropy(1));
            if controller.failure().is_none() {
                controller.receive(MOST).unwrap();
            }
        }
        controller.failure()
    };
    let mut end = host(FIRST, None);
    let negotiate = offer(&end);
    let mut controller = Controller::new(HOST, SUBSYSTEM);
    controller.send(&negotiate, Some(&known), &mut entropy(1));
    assert_eq!(controller.receive(15), None, "too short for the challenge, which is kept");
    let reply = end.reply(&controller.receive(MOST).unwrap(), &mut entropy(1)).unwrap();
    let changed = |message: &[u8], at: usize, value: u8| {
        let mut message = message.to_vec();
        message[at] = value;
        message
    };
    assert_eq!(explained(&[&negotiate, &reply], Some(&known)), None);
    for (messages, explanation) in [
        (vec![&b"\0"[..]], Explanation::INCORRECT_PAYLOAD),
        (vec![&negotiate[..71]], Explanation::INCORRECT_PAYLOAD),
        (vec![&changed(&negotiate, 6, 1)[..]], Explanation::CONCATENATION_MISMATCH),
        (vec![&changed(&negotiate, 7, 0)[..]], Explanation::PROTOCOL_NOT_USABLE),
        (vec![&changed(&negotiate, 7, 2)[..]], Explanation::INCORRECT_PAYLOAD),
        (vec![&changed(&negotiate, 8, 2)[..]], Explanation::PROTOCOL_NOT_USABLE),
        (vec![&changed(&negotiate, 10, 31)[..]], Explanation::INCORRECT_PAYLOAD),
        (vec![&reply[..]], Explanation::INCORRECT_MESSAGE),
        (vec![&negotiate, &changed(&reply, 4, 1)[..]], Explanation::INCORRECT_PAYLOAD),
        (vec![&negotiate, &changed(&reply, 6, 33)[..]], Explanation::INCORRECT_PAYLOAD),
        (vec![&negotiate, &changed(&reply, 10, 1)[..]], Explanation::INCORRECT_PAYLOAD),
        (vec![&negotiate, &changed(&reply, 1, 4)[..]], Explanation::INCORRECT_MESSAGE),
        (vec![&negotiate, &changed(&reply, 16, reply[16] ^ 1)[..]], Explanation::FAILED),
    ] {
        assert_eq!(explained(&messages, Some(&known)), Some(explanation), "{messages:02x?}");
    }
    assert_eq!(explained(&[&negotiate], None), Some(Explanation::PROTOCOL_NOT_USABLE));
    // Receiving what is not there fails, too.
    let mut controller = Controller::new(HOST, SUBSYSTEM);
    let failure = controller.receive(MOST).unwrap();
    assert_eq!(end.success(&failure), Err(Explanation::INCORRECT_MESSAGE));
    assert!(controller.has_failed());
}

#[test]
fn secrets_are_read_and_written() {
    for text in [FIRST, SECOND, THIRD] {
        assert_eq!(secret(text).to_string(), text);
        assert!(!format!("{:?}", secret(text)).contains(&text[10..]), "logs show no key");
    }
    for (text, error) in [
        ("", SecretError::Form),
        ("DHHC-1:00:", SecretError::Form),
        (&FIRST[..FIRST.len() - 1], SecretError::Form),
        (&FIRST.replace("DHHC-1", "DHHC-2"), SecretError::Form),
        (&FIRST.replace(":00:", ":04:"), SecretError::Hash),
        (&FIRST.replace(":00:", ":0:"), SecretError::Hash),
        (&FIRST.replace("AAEC", "A-EC"), SecretError::Key),
        (&FIRST.replace("AAECAwQF", ""), SecretError::Key),
        (&FIRST.replace("AAEC", "AAED"), SecretError::Checksum),
    ] {
        assert_eq!(text.parse::<Secret>(), Err(error), "{text}");
    }
}

proptest! {
    /// Whatever a host without the secret sends, it is not authenticated, and nothing panics.
    #[test]
    fn nothing_but_the_secret_authenticates(
        steps in prop::collection::vec(
            (0_u8..6, any::<prop::sample::Index>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..200)),
            0..12,
        ),
        group in prop::sample::select(vec![Group::Null, Group::Ffdhe2048]),
    ) {
        let known = credentials(FIRST, Some(SECOND));
        let mut controller = Controller::new(HOST, SUBSYSTEM);
        let mut end = host(THIRD, Some(THIRD));
        let mut entropy = entropy(1);
        let mut sent = end.negotiate(&Hash::ALL, &[group]);
        for (kind, at, value, bytes) in steps {
            match kind {
                0 => controller.send(&bytes, Some(&known), &mut entropy),
                1 => {
                    sent = end.negotiate(&Hash::ALL, &[group]);
                    controller.send(&sent, Some(&known), &mut entropy);
                }
                2 | 3 => {
                    if let Some(received) = controller.receive(MOST)
                        && let Ok(reply) = end.reply(&received, &mut entropy)
                    {
                        sent = reply;
                        controller.send(&sent, Some(&known), &mut entropy);
                    }
                }
                4 => {
                    let at = at.index(sent.len());
                    sent[at] = value;
                    controller.send(&sent, Some(&known), &mut entropy);
                }
                _ => drop(controller.receive(usize::from(value))),
            }
            prop_assert!(!controller.is_authenticated());
        }
    }
}
