//! Tests the media against the laws that any timing model of a drive must keep, and against an oracle that shares no
//! code with it.

mod exact;
mod laws;
mod oracle;
mod requests;
