//! The media of a drive, event by event: slow, obvious, and without any code of the media under test.
//!
//! # Specification of both
//! Time is in whole nanoseconds. At one instant, events happen in this order: dies finish work, and room in the buffer
//! goes to waiting flushes and then to waiting writes; everything else follows in the order in which the requests were
//! submitted; then each die decides what it does next. So a read that arrives when work would begin, continue or give
//! way goes first.
//!
//! - **Transfers** take `bytes x round(2^32 x 10^9 / rate) / 2^32` nanoseconds, rounded up. The controller, each
//!   direction of the link, and each channel's read and program data are served in order of arrival.
//! - **Command slots**: a request takes one when it is submitted, or waits for one behind those submitted before it. It
//!   returns the slot when its data is in the buffer, or has been brought and goes on to the link. With
//!   `arbitration_burst`, requests wait behind those of their queue. The next turn goes to the queue that has waited
//!   longest since its last turn or since it was empty. A turn ends after a burst, or when the queue is empty.
//! - **Dies** do background work in the order in which it was queued, once its data has arrived. Host reads go first,
//!   in order of arrival. Work under way gives way at points `slice` apart, counted from when it last began or
//!   continued, and then lasts `resume` longer. The first read that meets work draws how many points it misses. Work
//!   that has given way continues when no read waits and none is under way. A die serves one host read at a time, or
//!   with `independent_planes` as many as it has planes.
//! - **Writes** need room in the buffer for what they program, or half of the buffer if that is less; they wait behind
//!   each other. A write that needs more than half completes, and the next one may go, when the buffer holds no more
//!   than its size. If no program of buffered data is queued, all incomplete programs of it begin, each as long as a
//!   whole one: a drive pads them. (The last program of a reclaim unit takes the time of its pages, since the model's
//!   units need not hold whole programs.) A flush of an unprotected buffer, or a durable write once it is in the
//!   buffer, begins them too and waits for every program of buffered data queued so far. The buffer holds what hosts
//!   write, and with `gc_buffered` what is relocated, until it is programmed. Relocated data never waits for room, so
//!   the buffer may hold more than its size.
//! - **Reads** are in units of a page of all planes, or with `independent_planes` of one plane. A unit is served from
//!   the buffer if that holds all its pages: the newest bytes that hosts wrote, as many as the buffer holds of theirs.
//!   Otherwise, the unit is on a die chosen by hash. The parts of a read are those of the unit whose cells were read
//!   last, of several the last unit, and then the channel.
//! - **Garbage collection** is spread over host writes: each page carries its share of the relocated pages that are
//!   left, in 2^-32 pages rounded down, over the pages that were freed and not written yet. A read of the cells yields
//!   the valid pages of its unit; those beyond one move serve the next ones. `gc_host_rate` applies while that share is
//!   at least one page for every 50 host pages.
//!
//! - **The SLC cache** takes what hosts write, one program for each `unit` of pages, on the dies in turn. Each program
//!   frees its pages in the buffer. When a die has programmed a block of one bit per cell, it erases one. Each whole
//!   `unit` of data that leaves the cache costs a background read; its programs take no room of hosts, but with
//!   `gc_buffered` that of relocation.
//! - **The map**: a host read first reads its parts of the map, all at once, and then its data. All other reads of the
//!   map are background reads. Programs of the map join those of parity.
//!
//! **Draws** are by counter: draw `n` is `mix(n)`, the finaliser of SplitMix64, of a counter that every draw
//! increments, in the order of events: the die of a background read or of a read of the map, then its page type (the
//! SLC cache has one); missed points, one draw each until `mix(n) / 2^64` is at least `missed_slices`. A hash and not a
//! draw selects the die of a unit (`h = mix(unit xor ru x 2^40)`: die `h`, page type `h / 2^32`; `ru` of the cache is
//! 2^32 - 1) and the die of program `k` of a reclaim unit (`k + mix(ru) mod 2^32`), each modulo the number of dies or
//! page types.

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
