//! Histories that the model must accept or reject.

use super::*;

fn read(model: &mut Model, values: &[u64]) -> Result<(), String> {
    let op = model.begin(0);
    model.check_read(op, 0, values)
}

fn write(model: &mut Model) -> (OpId, u64) {
    let value = model.values(0);
    (model.begin_write(0, 0, &[value], 512), value)
}

fn model() -> Model {
    let mut model = Model::new();
    model.create(1, 512, 4);
    let space = model.space_mut(0);
    (space.open, space.alive) = (true, true);
    model
}

#[test]
fn a_completed_write_replaces_what_was_there() {
    let mut model = model();
    let (op, value) = write(&mut model);
    read(&mut model, &[0]).unwrap();
    read(&mut model, &[value]).unwrap();
    model.end(op, Outcome::Success, false);
    read(&mut model, &[0]).unwrap_err();
    read(&mut model, &[value]).unwrap();
}

#[test]
fn a_failed_write_may_have_happened() {
    let mut model = model();
    let (first, a) = write(&mut model);
    model.end(first, Outcome::Success, false);
    let (second, b) = write(&mut model);
    model.end(second, Outcome::Failure, false);
    read(&mut model, &[a]).unwrap();
    read(&mut model, &[b]).unwrap();
    read(&mut model, &[0]).unwrap_err();
}

#[test]
fn values_do_not_multiply_while_every_write_fails() {
    let mut model = model();
    for _ in 0..500 {
        let (op, _) = write(&mut model);
        model.end(op, Outcome::Failure, false);
        for (from, to) in [(0, 1), (1, 0)] {
            if model.can_copy(0, from, to, 1) {
                let op = model.begin_copy(0, from, to, 1);
                model.end(op, Outcome::Failure, false);
            }
        }
    }
    assert!(model.spaces[0].sectors[1].len() <= 2 * MOST_COPIED);
    assert!(!model.can_copy(0, 0, 1, 1));
    assert!(model.can_copy(0, 2, 3, 1));
}

#[test]
fn power_loss_keeps_what_was_flushed() {
    let mut model = model();
    let (first, a) = write(&mut model);
    model.end(first, Outcome::Success, false);
    let flush = model.begin(0);
    let (second, b) = write(&mut model);
    model.end(second, Outcome::Success, false);
    model.flushed(flush);
    model.server_gone(true);
    read(&mut model, &[a]).unwrap();
    read(&mut model, &[b]).unwrap();
    read(&mut model, &[0]).unwrap_err();
    model.server_gone(false);
    read(&mut model, &[0]).unwrap_err();
}

#[test]
fn a_read_on_its_way_at_power_loss_may_return_what_was_overwritten() {
    let mut model = model();
    let (first, a) = write(&mut model);
    model.end(first, Outcome::Success, false);
    let early = model.begin(0);
    let (second, b) = write(&mut model);
    model.end(second, Outcome::Success, true);
    model.server_gone(true);
    model.check_read(early, 0, &[a]).unwrap();
    read(&mut model, &[a]).unwrap_err();
    read(&mut model, &[b]).unwrap();
}

#[test]
fn a_read_on_its_way_when_the_server_ends_may_return_what_it_found() {
    let mut model = model();
    let (first, a) = write(&mut model);
    model.end(first, Outcome::Success, true);
    let early = model.begin(0);
    let (second, _) = write(&mut model);
    model.end(second, Outcome::Success, true);
    model.server_gone(false);
    // Enough writes to make the model forget values that can no longer be read.
    for _ in 0..40 {
        let (next, _) = write(&mut model);
        model.end(next, Outcome::Success, true);
    }
    model.check_read(early, 0, &[a]).unwrap();
    read(&mut model, &[a]).unwrap_err();
}

#[test]
fn values_of_another_namespace_are_found() {
    let mut model = model();
    model.create(1, 512, 4);
    model.space_mut(1).open = true;
    let (op, value) = write(&mut model);
    model.end(op, Outcome::Success, false);
    let op = model.begin(1);
    assert!(model.check_read(op, 0, &[value]).unwrap_err().contains("another namespace"));
}

#[test]
fn counters_do_not_go_back() {
    let mut model = model();
    let (op, _) = write(&mut model);
    model.end(op, Outcome::Success, false);
    let found = Reported { host_bytes: 512, reads: 3, writes: 1 };
    let written = model.written();
    model.check_counters(found, written).unwrap();
    model.server_gone(false);
    let error = model.check_counters(Reported { reads: 2, ..found }, written).unwrap_err();
    assert_eq!(error, "the counter of read commands went back from 3 to 2");
    let error = model.check_counters(Reported { host_bytes: 1024, ..found }, written).unwrap_err();
    assert!(error.contains("512..=512"), "{error}");
}
