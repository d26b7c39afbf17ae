// frameworks/cachecalc with tokio: a spawned task for each task, a mutex around the map, tokio's timer.

use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

const KEYS: usize = 10;
const FIRST_VALUE: u64 = 10_000;
const STAMPED_EVERY: u64 = 16;

#[derive(Default)]
struct Cache(Mutex<HashMap<String, String>>);

impl Cache {
    fn compute(&self) {
        let mut values = self.0.lock().expect("a task panicked");
        for i in 0..KEYS {
            let key = format!("hello{i}");
            let value = values.get(&key).map_or(FIRST_VALUE, |text| text.parse().expect("a number"));
            values.insert(key, (value + 1).to_string());
        }
    }

    fn holds(&self, computations: u64) -> bool {
        let right = (FIRST_VALUE + computations).to_string();
        let values = self.0.lock().expect("a task panicked");
        values.len() == KEYS && values.values().all(|text| *text == right)
    }
}

/// Returns what it waited if it is one of those that are stamped.
async fn task(cache: Arc<Cache>, number: u64, wait: Duration) -> Option<Duration> {
    cache.compute();
    let begin = (number % STAMPED_EVERY == 0).then(Instant::now);
    tokio::time::sleep(wait).await;
    let waited = begin.map(|begin| begin.elapsed());
    cache.compute();
    waited
}

struct Load {
    runtime: Runtime,
    threads: usize,
    tasks: u64,
    wait: Duration,
    waits: Vec<Duration>,
}

impl toll::State for Load {
    /// The tasks that were done rightly: all of them or none.
    fn run(&mut self) -> u64 {
        let (tasks, wait) = (self.tasks, self.wait);
        let cache = Arc::new(Cache::default());
        let shared = cache.clone();
        // Spawned like the tasks: the thread that blocks is none of the runtime's.
        let all = self.runtime.spawn(async move {
            let running: Vec<_> = (0..tasks).map(|i| tokio::spawn(task(shared.clone(), i, wait))).collect();
            let mut waits = Vec::new();
            for task in running {
                waits.extend(task.await.expect("a task panicked"));
            }
            waits
        });
        self.waits = self.runtime.block_on(all).expect("a task panicked");
        self.waits.sort();
        if !cache.holds(2 * tasks) {
            eprintln!("a key of the map does not hold what its tasks computed");
            return 0;
        }
        if self.waits[0] < wait {
            eprintln!("a task waited {:?} instead of {wait:?}", self.waits[0]);
            return 0;
        }
        tasks
    }

    fn expected(&self) -> u64 {
        self.tasks
    }

    fn units(&self) -> u64 {
        self.tasks
    }

    fn footing(&self) -> serde_json::Value {
        json!({"threads": self.threads, "serialized_by": "std::sync::Mutex",
               "waits": "timer of whole milliseconds; an idle thread sleeps"})
    }

    fn details(&self) -> BTreeMap<&'static str, f64> {
        let microseconds = |wait: Duration| wait.as_nanos() as f64 / 1e3;
        BTreeMap::from([
            ("wait_median_us", microseconds(self.waits[self.waits.len() / 2])),
            ("wait_longest_us", microseconds(self.waits[self.waits.len() - 1])),
        ])
    }
}

fn multi_thread(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    made(arguments, Builder::new_multi_thread().worker_threads(arguments["threads"].clamp(1, 1024) as usize))
}

fn current_thread(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    if arguments["threads"] != 1 {
        return Err(toll::Error::new("unsupported", "a current_thread runtime has one thread; ask for threads=1"));
    }
    made(arguments, &mut Builder::new_current_thread())
}

fn made(arguments: &toll::Arguments, builder: &mut Builder) -> Result<Box<dyn toll::State>, toll::Error> {
    let tasks = toll::number(arguments, "tasks", 1..=10_000_000)?;
    let threads = toll::threads(arguments)?;
    let wait = Duration::from_micros(toll::number(arguments, "wait_us", 0..=1_000_000)?);
    match builder.enable_time().build() {
        Ok(runtime) => Ok(Box::new(Load { runtime, threads, tasks, wait, waits: Vec::new() })),
        Err(error) => Err(toll::Error::no_threads("tokio", error)),
    }
}

/// With the threads that a contender takes by default.
const fn parameters(threads: &'static str) -> [toll::Parameter; 3] {
    [
        toll::Parameter { name: "tasks", default: "1000", unit: "tasks", meaning: "tasks of one iteration", only: "" },
        toll::Parameter {
            name: "wait_us",
            default: "8",
            unit: "us",
            meaning: "what each task waits between its two computations",
            only: "",
        },
        toll::Parameter {
            name: "threads",
            default: threads,
            unit: "threads",
            meaning: "threads of the contender's pool, or of its runtime",
            only: "",
        },
    ]
}

const PARAMETERS: &[toll::Parameter] = &parameters("cpus");
const ONE_THREAD: &[toll::Parameter] = &parameters("1");

fn main() -> std::process::ExitCode {
    let offered = |name, parameters, set_up| toll::Contender {
        workload: "frameworks/cachecalc",
        name,
        library: "tokio",
        library_version: toll::locked_version(include_str!("Cargo.lock"), "tokio"),
        unit: "ns",
        per: "task",
        parameters,
        set_up,
    };
    toll::main(&[
        offered("rust_tokio", PARAMETERS, multi_thread as _),
        offered("rust_tokio_current_thread", ONE_THREAD, current_thread as _),
    ])
}
