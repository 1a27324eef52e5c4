//! What operators ask of a subsystem that is served: faults to inject, hosts to let in, namespaces to switch. Requests are
//! lines of JSON over a local socket, or bodies of HTTP requests.
//!
//! A line holds a [`Request`], the next line back its [`Response`]. [`execute`] carries out a request; `socket.rs` moves
//! the lines. What is injected is in [`faults`](wafer_controller::faults), media errors in the drive.

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
