//! The media of a drive, event by event: slow, obvious, and without any code of the media under test.
//!
//! # Specification of both
//! Time is whole nanoseconds. At one instant the following happens in this order: dies end what they do, and room in
//! the buffer goes to waiting flushes and then to waiting writes; everything else follows in the order in which the
//! requests were submitted; then each die decides what it does next. So a read that arrives when work would begin,
//! continue or give way goes first.
//!
//! - **Transfers** take `bytes x round(2^32 x 10^9 / rate) / 2^32` nanoseconds, rounded up. Controller, each direction
//!   of the link, and each channel's read and program data serve in the order of arrival.
//! - **Command slots**: a request takes one when it is submitted, or waits for one behind those submitted before it. It
//!   gives it back when its data is in the buffer, or brought and next on the link. With `arbitration_burst`, requests
//!   wait behind those of their queue. A queue has a turn when it has waited longest, since its last turn or since it
//!   was empty. A turn ends after a burst, or when the queue is empty.
//! - **Dies** do background work in the order in which it was queued, from the moment at which its data is there.
//!   Reads of hosts go first, in their order. Work under way gives way at points `slice` apart, counted from its last
//!   beginning or continuation, and then lasts `resume` longer. The first read that meets work draws how many points
//!   it misses. Work that has given way continues when no read waits and none is under way. A die reads for hosts one
//!   at a time, or with `independent_planes` as many as it has planes.
//! - **Writes** need room in the buffer for what they program, or for half of the buffer if that is less; they wait behind
//!   each other. One that needed more than half completes, and the next one may go, when the buffer holds no more than its
//!   size. If no program of what the buffer holds is queued, all incomplete programs of it begin, each as long as a whole one: a
//!   drive fills them up. (The last program of a reclaim unit takes the time of its pages, since the model's units need not
//!   hold whole programs.) A flush of an unprotected buffer, or a durable write once it is in the buffer, begins them too
//!   and waits for every program of it queued until then. The buffer holds what hosts write, and with `gc_buffered` what is relocated, from the move on until it is programmed. Relocated data never waits for
//!   room, so that the buffer may hold more than its size.
//! - **Reads** are in units of a page of all planes, or with `independent_planes` of one plane. They are served from the
//!   buffer where it holds every page of a unit, which are the newest bytes of hosts as
//!   many as the buffer holds of theirs; otherwise the unit is on a die by hash.
//!   The parts of a read are those of its unit whose cells were read last, of several the last, and then the channel.
//! - **Garbage collection** is spread over what hosts write: a page takes its share of the relocated pages that are
//!   left, in 2^-32 pages rounded down, over the pages that were freed and not written yet.
//!   A read of the cells brings the valid pages of its unit: what it brings beyond one move is there for the next ones.
//!   `gc_host_rate` holds while that share is at least a page for every 50 pages of hosts.
//!
//! - **The SLC cache** takes what hosts write, a program for each `unit` of pages, on the dies in turn. Each frees its
//!   pages in the buffer. When a die has programmed a block of one bit a cell, it erases one. Of what leaves, each whole
//!   `unit` is a background read; its programs take no room of hosts, and with `gc_buffered` that of relocation.
//! - **The map**: a host's read first reads its parts of the map, all at once, and then its data. Parts that anything else
//!   reads are background reads. Programs of the map join those of parity.
//!
//! **Draws** are by counter: draw `n` is `mix(n)`, the finaliser of SplitMix64, of a counter that every draw
//! increments, in the order of events: the die of a background read or of a read of the map, then its page type (the
//! SLC cache has one); missed points, one draw each
//! until `mix(n) / 2^64` is at least `missed_slices`. By hash and not drawn are the die of a unit
//! (`h = mix(unit xor ru x 2^40)`: die `h`, page type `h / 2^32`; `ru` of the cache is 2^32 - 1) and that of program `k` of a reclaim unit
//! (`k + mix(ru) mod 2^32`), each modulo the number.

mod die;
mod pacing;
mod simulation;

pub(crate) use simulation::simulate;

/// The finaliser of SplitMix64.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
