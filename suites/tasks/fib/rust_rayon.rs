// tasks/fib with rayon: join forks its second closure where others may take it, and makes the first one itself.

use serde_json::json;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (second, first) = rayon::join(|| fib(n - 2), || fib(n - 1));
    first + second
}

/// The n-th Fibonacci number, by addition.
fn number(n: u64) -> u64 {
    (0..n).fold((1, 0), |(before, found), _| (found, before + found)).1
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
        number(self.n + 1) - 1
    }

    fn footing(&self) -> serde_json::Value {
        json!({"threads": self.pool.current_num_threads()})
    }
}

fn set_up(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    let (n, threads) = (arguments["n"], arguments["threads"]);
    if !(2..=60).contains(&n) {
        return Err(toll::Error::new("usage", format!("n must be 2 to 60, got {n}")));
    }
    if !(1..=1024).contains(&threads) {
        return Err(toll::Error::new("usage", format!("threads must be 1 to 1024, got {threads}")));
    }
    match rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build() {
        Ok(pool) => Ok(Box::new(Fib { pool, n })),
        Err(error) => Err(toll::Error::new("resource", format!("rayon cannot start its threads: {error}"))),
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
        parameters: &[
            toll::Parameter {
                name: "n",
                default: "27",
                unit: "",
                meaning: "which Fibonacci number; each call of 2 or more forks the one of n - 1 and makes the one of n - 2 itself",
                only: "",
            },
            toll::Parameter {
                name: "threads",
                default: "cpus",
                unit: "threads",
                meaning: "operating-system threads that run the tasks",
                only: "",
            },
        ],
        set_up,
    }])
}
