//! The atomic write units that controllers report.

use wafer_controller::admin;
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_target::fuzzing;

use crate::common::{sqe, subsystem};

#[test]
fn identify_names_the_atomic_units() {
    let controller = fuzzing::connect(&subsystem());
    let identify = |cns: Cns| {
        let sqe = Sqe { nsid: 1.into(), ..sqe(AdminOpcode::IDENTIFY, cns.0.into(), 0) };
        let sqe = if cns == Cns::CONTROLLER { Sqe { nsid: 0.into(), ..sqe } } else { sqe };
        admin(&controller, &sqe, &[]).unwrap().data
    };
    let id = IdentifyController::read_from_bytes(&identify(Cns::CONTROLLER)).unwrap();
    assert_eq!((id.awun_z.get(), id.awupf_z.get()), (15, 15));
    // Compare and Write.
    assert_eq!((id.fuses.get(), id.acwu_z.get()), (1, 15));
    let id = IdentifyNamespace::read_from_bytes(&identify(Cns::NAMESPACE)).unwrap();
    assert!(Nsfeat::from_bits(id.nsfeat).nsabp());
    assert_eq!([id.nawun_z.get(), id.nawupf_z.get(), id.nacwu_z.get()], [15; 3]);
    // No boundaries: a write may begin anywhere.
    assert_eq!((id.nabsn.get(), id.nabo.get(), id.nabspf.get()), (0, 0, 0));
}
