//! Counts concurrency units in a pass of its own, which nobody times.

use crate::Error;
use serde_json::{Map, Value};
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

/// What `count` told, for the footing, where the runner asks for a counting pass; `expected` is its right answer.
pub fn counted(expected: u64, count: impl FnOnce() -> u64) -> Result<Map<String, Value>, Error> {
    let mut told = Map::new();
    if std::env::var_os("TOLL_UNITS").is_none() {
        return Ok(told);
    }
    for counter in [&MADE, &ALIVE, &PEAK] {
        counter.store(0, Relaxed);
    }
    if count() != expected {
        return Err(Error::new("wrong_answer", "the sum is wrong while units are counted"));
    }
    told.insert("units_created".into(), MADE.load(Relaxed).into());
    told.insert("units_alive_peak".into(), PEAK.load(Relaxed).into());
    Ok(told)
}
