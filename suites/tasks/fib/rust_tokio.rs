// tasks/fib with tokio: the call of n - 1 is a task, the other one is awaited in its parent.

mod fib;

use fib::{forks, inputs, number, PARAMETERS};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

async fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let first = forked(n - 1);
    let second = Box::pin(fib(n - 2)).await; // in a box, as a future cannot hold another one of its own kind
    first.await.expect("a task panicked") + second
}

// Not an async function: through the handle's type the recursion needs no box.
fn forked(n: u64) -> JoinHandle<u64> {
    tokio::spawn(fib(n))
}

struct Fib {
    runtime: Runtime,
    n: u64,
    threads: usize,
}

impl toll::State for Fib {
    fn run(&mut self) -> u64 {
        // The root is a task too: what block_on runs itself is not one of the workers'.
        self.runtime.block_on(async { forked(self.n).await.expect("the root panicked") })
    }

    fn expected(&self) -> u64 {
        number(self.n)
    }

    fn units(&self) -> u64 {
        forks(self.n)
    }

    fn footing(&self) -> serde_json::Value {
        json!({"threads": self.threads})
    }
}

fn set_up(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    let (n, threads) = inputs(arguments)?;
    match Builder::new_multi_thread().worker_threads(threads).build() {
        Ok(runtime) => Ok(Box::new(Fib { runtime, n, threads })),
        Err(error) => Err(toll::Error::no_threads("tokio", error)),
    }
}

fn main() -> std::process::ExitCode {
    toll::main(&[toll::Contender {
        workload: "tasks/fib",
        name: "rust_tokio",
        library: "tokio",
        library_version: toll::locked_version(include_str!("Cargo.lock"), "tokio"),
        unit: "ns",
        per: "task",
        parameters: PARAMETERS,
        set_up,
    }])
}
