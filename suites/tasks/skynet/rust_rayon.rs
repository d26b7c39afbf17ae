// tasks/skynet with rayon: a spawned job for each node below the root, results through a slot for each child.

mod skynet;

use serde_json::{json, Map, Value};
use skynet::{expected, inputs, nodes_below_root, CHILDREN, PARAMETERS};
use toll::units::{counted, Counted, Uncounted, Units};

fn skynet<U: Units>(ordinal: u64, size: u64) -> u64 {
    if size == 1 {
        return ordinal;
    }
    let step = size / CHILDREN;
    let mut sums = [0u64; CHILDREN as usize];
    rayon::scope(|scope| {
        for (i, sum) in sums.iter_mut().enumerate() {
            U::made();
            scope.spawn(move |_| {
                *sum = skynet::<U>(ordinal + i as u64 * step, step);
                U::ended();
            });
        }
    });
    sums.iter().sum()
}

struct Tree {
    pool: rayon::ThreadPool,
    tasks: u64,
}

impl toll::State for Tree {
    fn run(&mut self) -> u64 {
        self.pool.install(|| skynet::<Uncounted>(0, self.tasks))
    }

    fn expected(&self) -> u64 {
        expected(self.tasks)
    }

    fn units(&self) -> u64 {
        self.tasks
    }

    fn footing(&self) -> serde_json::Value {
        let derived = nodes_below_root(self.tasks);
        json!({"threads": self.pool.current_num_threads(), "units_created": derived, "results": "slot of the parent"})
    }

    fn counted(&self) -> Result<Map<String, Value>, toll::Error> {
        counted(self.expected(), || self.pool.install(|| skynet::<Counted>(0, self.tasks)))
    }
}

fn set_up(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    let (tasks, threads) = inputs(arguments)?;
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => Ok(Box::new(Tree { pool, tasks })),
        Err(error) => Err(toll::Error::no_threads("rayon", error)),
    }
}

fn main() -> std::process::ExitCode {
    toll::main(&[toll::Contender {
        workload: "tasks/skynet",
        name: "rust_rayon",
        library: "rayon",
        library_version: toll::locked_version(include_str!("Cargo.lock"), "rayon"),
        unit: "ns",
        per: "task",
        parameters: PARAMETERS,
        set_up,
    }])
}
