//! Closed forms of write amplification, an oracle for the device.
//!
//! They predict the WAF of a device without simulating it; the tests in `tests/theory` compare the device
//! with them. All functions are pure. They return `None` outside their domain and never panic.
//!
//! # Symbols
//! | symbol | meaning |
//! |---|---|
//! | `T` | physical pages that can hold data when a victim is chosen: see [`spare`] |
//! | `U` | logical pages, all mapped |
//! | OP | over-provisioning (T - U) / U, a fraction: 0.07 is 7 % |
//! | `α` | T / U = 1 + OP |
//! | `ρ` | U / T = 1 / α |
//! | `b` | pages of a reclaim unit (RU) |
//! | `A` | WAF = media pages / host pages, at least 1 |
//!
//! # Forms
//! | form | function | model |
//! |---|---|---|
//! | T1 | [`uniform::fifo`] | uniform writes, FIFO; greedy with large RUs |
//! | T2 | [`uniform::greedy`] | uniform writes, greedy, `b` pages per RU |
//! | T3 | [`uniform::agarwal_marrow`] | a rough estimate, kept for comparison |
//! | T4 | [`uniform::random`] | random victims |
//! | T5 | [`d_choices::d_choices`] | best of `d` random victims |
//! | T6 | [`streams::mixed_fifo`] | classes of pages of different heat in one FIFO log |
//! | T7 | [`streams::isolated`] | isolated streams with spare pages of their own |
//! | T8 | [`split::sqrt_split`], [`split::optimal_split`] | the best division of the spare pages |
//! | T9 | [`streams::global_greedy`] | isolated streams under one greedy collector |
//! | T11 | [`traffic::trimmed`] | uniform writes with deallocate |
//! | T12 | [`traffic::flash_cache`] | cache of small objects next to a log of large ones |
//! | T13 | [`traffic::partial_page_factor`] | host writes smaller than a page |
//!
//! T10 needs no function: a stream that is overwritten in order and has RUs of its own has A = 1.
//!
//! # Sources
//! - \[X\] Xiang, Kurkoski: An Improved Analytical Expression for Write Amplification in NAND Flash,
//!   arXiv 1110.4245.
//! - \[Ag\] Agarwal, Marrow: A closed-form expression for write amplification in NAND flash,
//!   GLOBECOM Workshops 2010.
//! - \[D\] Desnoyers: Analytic modeling of SSD write performance, SYSTOR 2012; Analytic models of
//!   SSD write performance, ACM TOS 2014.
//! - \[VH\] Van Houdt: A mean field model for a class of garbage collection algorithms in flash-based
//!   solid state drives, SIGMETRICS 2013.
//! - \[Fr\] Frankie, Hughes, Kreutz-Delgado: Analysis of Trim Commands on Overprovisioning and Write
//!   Amplification in Solid State Drives, arXiv 1208.1794.
//! - \[St\] Stoica, Ailamaki: Improving Flash Write Performance by Using Update Frequency, VLDB 2013.
//!
//! "Re-derived" means that the derivation is given with the function and does not rely on the source.

pub mod d_choices;
mod lambert;
pub mod spare;
pub mod split;
pub mod streams;
pub mod traffic;
pub mod uniform;

pub use lambert::lambert_w0;
pub use spare::Spare;
pub use streams::Stream;
pub use uniform::Victim;

/// Returns whether `x` is positive and finite, the domain of most arguments.
fn positive(x: f64) -> bool {
    x > 0.0 && x.is_finite()
}
