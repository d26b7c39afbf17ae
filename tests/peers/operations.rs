// Some of the operations as a Criterion.rs executable. PEERS_SLOWDOWN is the slow-down in per mille.

use criterion::{black_box, criterion_group, criterion_main, Criterion};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::Instant;

const SPREAD: u32 = 2_654_435_761;

/// Some calls, then a wait for a share of the time that they took, as slowed.hpp does.
fn block(calls: u64, share: f64, call: &mut dyn FnMut() -> bool) {
    let begin = Instant::now();
    let right = (0..calls).filter(|_| black_box(call())).count() as u64;
    assert_eq!(right, calls, "a wrong answer");
    let ends = begin.elapsed().mul_f64(1.0 + share);
    while begin.elapsed() < ends {}
}

fn next(state: &mut u64) -> u32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as u32
}

fn all(criterion: &mut Criterion) {
    let share = std::env::var("PEERS_SLOWDOWN").ok().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0) / 1e3;
    let mut bench = |name: &str, calls: u64, call: &mut dyn FnMut() -> bool| {
        criterion.bench_function(name, |b| b.iter(|| block(calls, share, call)));
    };
    let mut state = 1;
    let hashed: HashMap<u32, u32> = (0..1_000).map(|key: u32| (key.wrapping_mul(SPREAD), key)).collect();
    bench("hash_map_lookup", 5_000, &mut || {
        let key = next(&mut state) % 1_000;
        hashed.get(&key.wrapping_mul(SPREAD)) == Some(&key)
    });
    let mut state = 1;
    let tree: BTreeMap<u32, u32> = (0..1_000).map(|key: u32| (key.wrapping_mul(SPREAD), key)).collect();
    bench("tree_lookup", 2_000, &mut || {
        let key = next(&mut state) % 1_000;
        tree.get(&key.wrapping_mul(SPREAD)) == Some(&key)
    });
    let counter = AtomicU64::new(0);
    let mut calls = 0;
    bench("atomic_add", 40_000, &mut || {
        calls += 1;
        counter.fetch_add(1, Ordering::Relaxed) + 1 == calls
    });
    let protected = Mutex::new(0u64);
    bench("uncontended_lock", 10_000, &mut || {
        let mut guard = protected.lock().unwrap();
        *guard += 1;
        *guard != 0
    });
    bench("new_delete", 10_000, &mut || black_box(Box::new([0u64; 8]))[0] == 0);
    let mut number = 0;
    bench("short_string", 2_000, &mut || {
        let text = format!("key{}", 1_000_000 + number % 1_000_000);
        number += 1;
        text.len() == 10 && text.as_bytes()[3] == b'1'
    });
    let mut state = 1;
    let unsorted: Vec<u32> = (0..512).map(|_| next(&mut state)).collect();
    let (low, high) = (*unsorted.iter().min().unwrap(), *unsorted.iter().max().unwrap());
    bench("sort_512", 20, &mut || {
        let mut sorted = unsorted.clone();
        sorted.sort_unstable();
        sorted[0] == low && sorted[511] == high
    });
    let numbers: Vec<u32> = (1..=4_096).collect();
    bench("sum_4096", 200, &mut || black_box(&numbers).iter().sum::<u32>() == 4_096 * 4_097 / 2);
}

criterion_group!(benches, all);
criterion_main!(benches);
