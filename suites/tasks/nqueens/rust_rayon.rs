// tasks/nqueens with rayon: a parallel iterator over the queens of a column, one item a split.

mod nqueens;

use nqueens::{free, inputs, of_size, queens_placed, Board, PARAMETERS, SMALLEST, SOLUTIONS};
use rayon::prelude::*;
use serde_json::json;

fn from<const N: usize>(board: Board<N>, placed: usize) -> u64 {
    if placed == N {
        return 1;
    }
    let (rows, count) = free(&board, placed);
    rows[..count]
        .par_iter()
        .with_max_len(1) // else rayon splits as far as it has threads that look for work, and loops over the rest
        .map(|&row| {
            let mut next = board;
            next[placed] = row;
            from(next, placed + 1)
        })
        .sum()
}

struct Search {
    pool: rayon::ThreadPool,
    n: usize,
    placed: u64,
}

impl toll::State for Search {
    fn run(&mut self) -> u64 {
        self.pool.install(|| of_size!(self.n, N => from([0; N], 0)))
    }

    fn expected(&self) -> u64 {
        SOLUTIONS[self.n - SMALLEST]
    }

    fn units(&self) -> u64 {
        self.placed
    }

    fn footing(&self) -> serde_json::Value {
        json!({"threads": self.pool.current_num_threads()})
    }
}

fn set_up(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    let (n, threads) = inputs(arguments)?;
    let placed = of_size!(n, N => queens_placed([0; N], 0));
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => Ok(Box::new(Search { pool, n, placed })),
        Err(error) => Err(toll::Error::no_threads("rayon", error)),
    }
}

fn main() -> std::process::ExitCode {
    toll::main(&[toll::Contender {
        workload: "tasks/nqueens",
        name: "rust_rayon",
        library: "rayon",
        library_version: toll::locked_version(include_str!("Cargo.lock"), "rayon"),
        unit: "ns",
        per: "task",
        parameters: PARAMETERS,
        set_up,
    }])
}
