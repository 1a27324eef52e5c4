//! Requests of operators to a served subsystem: faults to inject, hosts to admit, namespaces to switch. Requests are
//! lines of JSON over a local socket, or bodies of HTTP requests.
//!
//! A line holds a [`Request`], and the next line back its [`Response`]. [`execute`] executes a request; `socket.rs`
//! moves the lines. Injected faults are in [`faults`](wafer_controller::faults), media errors in the drive.

mod execute;
mod names;
mod request;
mod socket;
mod status;

pub use execute::execute;
pub use request::{
    Ana, AnaAccess, Drop, Event, Fail, HealthChange, Hosts, Namespace, NoFields, Range, ReadDelays,
    Request, Response,
};
pub use socket::{MAX_LINE, answer, serve};
pub use status::{AnaGroup, Connection, Failing, MediaError, NamespaceStatus, Port, Status};
