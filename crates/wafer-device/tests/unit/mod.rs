//! Tests of the whole device that look inside it. Those of its public interface are in `wafer-oracle`.

mod adaptive;
mod configs;
mod death_time;
mod exchange;
mod midas;
mod policies;
