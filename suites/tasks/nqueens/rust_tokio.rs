// tasks/nqueens with tokio: a task for each queen of a column but the last, which is awaited in its parent.

mod nqueens;

use nqueens::{free, inputs, of_size, queens_placed, Board, PARAMETERS, SMALLEST, SOLUTIONS};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

async fn from<const N: usize>(board: Board<N>, placed: usize) -> u64 {
    if placed == N {
        return 1;
    }
    let (rows, count) = free(&board, placed);
    if count == 0 {
        return 0;
    }
    let with = |row| {
        let mut next = board;
        next[placed] = row;
        next
    };
    let tasks: Vec<_> = rows[..count - 1].iter().map(|&row| forked(with(row), placed + 1)).collect();
    // In a box, as a future cannot hold another one of its own kind.
    let mut sum = Box::pin(from(with(rows[count - 1]), placed + 1)).await;
    for task in tasks {
        sum += task.await.expect("a task panicked");
    }
    sum
}

// Not an async function: through the handle's type the recursion needs no box.
fn forked<const N: usize>(board: Board<N>, placed: usize) -> JoinHandle<u64> {
    tokio::spawn(from(board, placed))
}

struct Search {
    runtime: Runtime,
    n: usize,
    threads: usize,
    placed: u64,
}

impl toll::State for Search {
    fn run(&mut self) -> u64 {
        // The root is a task too: what block_on runs itself is not one of the workers'.
        let root = async { of_size!(self.n, N => forked([0; N], 0)).await.expect("the root panicked") };
        self.runtime.block_on(root)
    }

    fn expected(&self) -> u64 {
        SOLUTIONS[self.n - SMALLEST]
    }

    fn units(&self) -> u64 {
        self.placed
    }

    fn footing(&self) -> serde_json::Value {
        json!({"threads": self.threads})
    }
}

fn set_up(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    let (n, threads) = inputs(arguments)?;
    let placed = of_size!(n, N => queens_placed([0; N], 0));
    match Builder::new_multi_thread().worker_threads(threads).build() {
        Ok(runtime) => Ok(Box::new(Search { runtime, n, threads, placed })),
        Err(error) => Err(toll::Error::no_threads("tokio", error)),
    }
}

fn main() -> std::process::ExitCode {
    toll::main(&[toll::Contender {
        workload: "tasks/nqueens",
        name: "rust_tokio",
        library: "tokio",
        library_version: toll::locked_version(include_str!("Cargo.lock"), "tokio"),
        unit: "ns",
        per: "task",
        parameters: PARAMETERS,
        set_up,
    }])
}
