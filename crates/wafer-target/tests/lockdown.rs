//! Lockdown: what can be prohibited, for which hosts, and for how long.

use wafer_controller::{Access, Controller, Rights, Subsystem, admin};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_target::fuzzing;

use crate::common::{identify, set, sqe, subsystem};

const OPCODE: LockdownScope = LockdownScope::ADMIN_COMMAND;
const FEATURE: LockdownScope = LockdownScope::SET_FEATURES;

fn execute(controller: &Controller, opcode: AdminOpcode, cdw10: u32) -> Status {
    let done = admin(controller, &sqe(opcode, cdw10, 0), &[]);
    done.map_or_else(|failure| failure.status, |_| Status::SUCCESS)
}

fn lock(c: &Controller, scope: LockdownScope, identifier: u8, prohibit: bool) -> Status {
    let cdw10 = LockdownCdw10::new().with_scope(scope.0).with_prohibit(prohibit);
    execute(c, AdminOpcode::LOCKDOWN, cdw10.with_identifier(identifier).into_bits())
}

fn list(controller: &Controller, scope: u8, contents: u8) -> Result<Vec<u8>, Status> {
    let lsp = LockdownContents::new().with_scope(scope).with_contents(contents).into_bits();
    let cdw10 = GetLogCdw10::new().with_lid(Lid::LOCKDOWN.0).with_lsp(lsp).with_numdl_z(127);
    let page = admin(controller, &sqe(AdminOpcode::GET_LOG_PAGE, cdw10.into_bits(), 0), &[]);
    let log = LockdownLog::read_from_bytes(&page.map_err(|failure| failure.status)?.data).unwrap();
    assert_eq!(log.contents, lsp);
    let (list, rest) = log.identifiers.split_at(log.length.into());
    assert!(list.is_sorted() && rest.iter().all(|byte| *byte == 0));
    Ok(list.to_vec())
}

#[test]
fn what_is_locked_is_prohibited_for_everybody() {
    let subsystem = subsystem();
    let (owner, other) = (fuzzing::connect(&subsystem), fuzzing::connect(&subsystem));
    assert!(Oacs::from_bits(identify(&owner).oacs.get()).lockdown());
    let sanitize = |c: &Controller| execute(c, AdminOpcode::SANITIZE, 4);
    let cache = |c: &Controller| {
        let done = set(c, Fid::VOLATILE_WRITE_CACHE, 1);
        done.map_or_else(|failure| failure.status, |_| Status::SUCCESS)
    };
    assert_eq!((sanitize(&other), cache(&other)), (Status::INVALID_FIELD, Status::SUCCESS));
    assert_eq!(lock(&owner, OPCODE, AdminOpcode::SANITIZE.0, true), Status::SUCCESS);
    assert_eq!(lock(&owner, FEATURE, Fid::VOLATILE_WRITE_CACHE.0, true), Status::SUCCESS);
    let prohibited = Status::PROHIBITED_BY_LOCKDOWN;
    for controller in [&owner, &other] {
        assert_eq!((sanitize(controller), cache(controller)), (prohibited, prohibited));
        assert_eq!(list(controller, 0, 1).unwrap(), [AdminOpcode::SANITIZE.0]);
        assert_eq!(list(controller, 2, 1).unwrap(), [Fid::VOLATILE_WRITE_CACHE.0]);
        assert_eq!(list(controller, 0, 2), Err(Status::INVALID_FIELD), "no management endpoint");
    }
    // Other features, and reading this one, are allowed.
    set(&other, Fid::ASYNC_EVENT, 0).unwrap();
    assert_eq!(execute(&other, AdminOpcode::GET_FEATURES, 6), Status::SUCCESS);
    // A controller that connects later, and one that is reset.
    assert_eq!(sanitize(&fuzzing::connect(&subsystem)), prohibited);
    assert_eq!(lock(&other, OPCODE, AdminOpcode::SANITIZE.0, false), Status::SUCCESS);
    assert_eq!(lock(&other, FEATURE, Fid::VOLATILE_WRITE_CACHE.0, false), Status::SUCCESS);
    assert_eq!((sanitize(&owner), cache(&owner)), (Status::INVALID_FIELD, Status::SUCCESS));
    // Lockdown itself stays locked until the power cycle.
    assert_eq!(lock(&owner, OPCODE, AdminOpcode::LOCKDOWN.0, true), Status::SUCCESS);
    assert_eq!(lock(&owner, OPCODE, AdminOpcode::LOCKDOWN.0, false), prohibited);
    let again = Subsystem::new(
        std::sync::Arc::clone(&subsystem.drive),
        wafer_io::SUPPORTED,
        subsystem.options.clone(),
    );
    let again = fuzzing::connect(&again);
    assert_eq!(lock(&again, OPCODE, AdminOpcode::LOCKDOWN.0, false), Status::SUCCESS);
}

#[test]
fn what_cannot_be_locked_is_refused() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let commands = list(&controller, 0, 0).unwrap();
    let features = list(&controller, 2, 0).unwrap();
    for identifier in 0..=255 {
        for (scope, can) in [(OPCODE, &commands), (FEATURE, &features)] {
            if (scope, identifier) == (OPCODE, AdminOpcode::LOCKDOWN.0) {
                // Only the power cycle would allow it again.
                continue;
            }
            let expected = if can.contains(&identifier) {
                Status::SUCCESS
            } else {
                Status::PROHIBITION_NOT_SUPPORTED
            };
            assert_eq!(lock(&controller, scope, identifier, true), expected, "{identifier}");
            lock(&controller, scope, identifier, false);
        }
    }
    for needed in [AdminOpcode::IDENTIFY, AdminOpcode::KEEP_ALIVE, AdminOpcode::FABRICS] {
        assert!(!commands.contains(&needed.0));
    }
    assert!(!features.contains(&Fid::HOST_IDENTIFIER.0), "it cannot be set");
    for wrong in [LockdownCdw10::new().with_interface(1), LockdownCdw10::new().with_scope(3)] {
        let command = wrong.with_identifier(AdminOpcode::SANITIZE.0).into_bits();
        assert_eq!(execute(&controller, AdminOpcode::LOCKDOWN, command), Status::INVALID_FIELD);
    }
    assert_eq!(list(&controller, 3, 0), Err(Status::INVALID_FIELD));
    assert_eq!(list(&controller, 0, 3), Err(Status::INVALID_FIELD));
    let access = Access::Everyone(Rights { manage: false });
    let whole = std::sync::Arc::clone(&subsystem.drive);
    let limited =
        Subsystem::with_access(whole, wafer_io::SUPPORTED, subsystem.options.clone(), access);
    let limited = fuzzing::connect(&limited);
    assert_eq!(lock(&limited, OPCODE, AdminOpcode::SANITIZE.0, true), Status::OPERATION_DENIED);
}
