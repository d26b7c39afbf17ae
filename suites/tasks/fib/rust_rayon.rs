// tasks/fib with rayon: join forks its second closure where others may take it, and makes the first one itself.

mod fib;

use fib::{forks, inputs, number, PARAMETERS};
use serde_json::json;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (second, first) = rayon::join(|| fib(n - 2), || fib(n - 1));
    first + second
}

struct Fib {
    pool: rayon::ThreadPool,
    n: u64,
}

impl toll::State for Fib {
    fn run(&mut self) -> u64 {
        self.pool.install(|| fib(self.n))
    }

    fn expected(&self) -> u64 {
        number(self.n)
    }

    fn units(&self) -> u64 {
        forks(self.n)
    }

    fn footing(&self) -> serde_json::Value {
        json!({"threads": self.pool.current_num_threads()})
    }
}

fn set_up(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    let (n, threads) = inputs(arguments)?;
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => Ok(Box::new(Fib { pool, n })),
        Err(error) => Err(toll::Error::no_threads("rayon", error)),
    }
}

fn main() -> std::process::ExitCode {
    toll::main(&[toll::Contender {
        workload: "tasks/fib",
        name: "rust_rayon",
        library: "rayon",
        library_version: toll::locked_version(include_str!("Cargo.lock"), "rayon"),
        unit: "ns",
        per: "task",
        parameters: PARAMETERS,
        set_up,
    }])
}
