// tasks/matmul with tokio: three of four quarters are tasks, the fourth is awaited in its parent; then those
// that are added to them.

mod matmul;

use matmul::{set_up, Product, Threads, LEAF, PARAMETERS};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

async fn multiply(block: Product) {
    if block.size == LEAF {
        return block.multiply();
    }
    for inner in 0..2 {
        let tasks = [(0, 0), (0, 1), (1, 0)].map(|(i, j)| forked(block.quarter(i, inner, j)));
        // In a box, as a future cannot hold another one of its own kind.
        Box::pin(multiply(block.quarter(1, inner, 1))).await;
        for task in tasks {
            task.await.expect("a task panicked");
        }
    }
}

// Not an async function: through the handle's type the recursion needs no box.
fn forked(block: Product) -> JoinHandle<()> {
    tokio::spawn(multiply(block))
}

struct Workers {
    runtime: Runtime,
    threads: usize,
}

impl Threads for Workers {
    fn multiply(&self, all: Product) {
        // The root is a task too: what block_on runs itself is not one of the workers'.
        self.runtime.block_on(async { forked(all).await.expect("the root panicked") });
    }

    fn count(&self) -> usize {
        self.threads
    }
}

fn start(threads: usize) -> Result<Workers, toll::Error> {
    match Builder::new_multi_thread().worker_threads(threads).build() {
        Ok(runtime) => Ok(Workers { runtime, threads }),
        Err(error) => Err(toll::Error::no_threads("tokio", error)),
    }
}

fn main() -> std::process::ExitCode {
    toll::main(&[toll::Contender {
        workload: "tasks/matmul",
        name: "rust_tokio",
        library: "tokio",
        library_version: toll::locked_version(include_str!("Cargo.lock"), "tokio"),
        unit: "ns",
        per: "task",
        parameters: PARAMETERS,
        set_up: |arguments| set_up(arguments, start),
    }])
}
