//! Counts concurrency units in a pass of its own, which nobody times.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

static MADE: AtomicI64 = AtomicI64::new(0);
static ALIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

/// What a contender's units tell; of the timed tree nothing is left once it is compiled.
pub trait Units: Send + 'static {
    /// Before a unit starts.
    fn made() {}
    /// When what it holds is given back.
    fn ended() {}
}

/// Of the timed tree.
pub struct Uncounted;

impl Units for Uncounted {}

/// Of the counting pass.
pub struct Counted;

impl Units for Counted {
    fn made() {
        MADE.fetch_add(1, Relaxed);
        PEAK.fetch_max(ALIVE.fetch_add(1, Relaxed) + 1, Relaxed);
    }

    fn ended() {
        ALIVE.fetch_sub(1, Relaxed);
    }
}

/// The footing with what `count` told, where the runner asks for a counting pass.
pub fn with_units(mut footing: serde_json::Value, count: impl FnOnce() -> u64) -> serde_json::Value {
    if std::env::var_os("TOLL_UNITS").is_some() {
        for counter in [&MADE, &ALIVE, &PEAK] {
            counter.store(0, Relaxed);
        }
        std::hint::black_box(count());
        footing["units_created"] = MADE.load(Relaxed).into();
        footing["units_alive_peak"] = PEAK.load(Relaxed).into();
    }
    footing
}
