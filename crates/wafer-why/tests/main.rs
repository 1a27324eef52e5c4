//! Experiments whose cause is known.

mod cases;
