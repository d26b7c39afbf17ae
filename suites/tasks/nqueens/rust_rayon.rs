// tasks/nqueens with rayon: a parallel iterator over the queens of a column, one item a split.

use rayon::prelude::*;
use serde_json::json;

const SMALLEST: usize = 4;
const LARGEST: usize = 14;
/// Solutions on boards of `SMALLEST` and more.
const SOLUTIONS: [u64; LARGEST - SMALLEST + 1] = [2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712, 365_596];

/// The row of the queen in each column so far.
type Board = [i8; LARGEST];

fn is_free(board: &Board, placed: usize, row: usize) -> bool {
    board[..placed].iter().enumerate().all(|(column, &queen)| {
        let (queen, row, apart) = (i32::from(queen), row as i32, (placed - column) as i32);
        queen != row && queen != row - apart && queen != row + apart
    })
}

/// Rows of the next column that no queen threatens, and how many.
fn free(board: &Board, n: usize, placed: usize) -> (Board, usize) {
    let (mut rows, mut count) = ([0; LARGEST], 0);
    for row in 0..n {
        if is_free(board, placed, row) {
            rows[count] = row as i8;
            count += 1;
        }
    }
    (rows, count)
}

fn from(board: Board, n: usize, placed: usize) -> u64 {
    if placed == n {
        return 1;
    }
    let (rows, count) = free(&board, n, placed);
    rows[..count]
        .par_iter()
        .map(|&row| {
            let mut next = board;
            next[placed] = row;
            from(next, n, placed + 1)
        })
        .sum()
}

/// How many queens all tries place together.
fn queens_placed(mut board: Board, n: usize, placed: usize) -> u64 {
    if placed == n {
        return 0;
    }
    let (rows, count) = free(&board, n, placed);
    let mut sum = count as u64;
    for &row in &rows[..count] {
        board[placed] = row;
        sum += queens_placed(board, n, placed + 1);
    }
    sum
}

struct Search {
    pool: rayon::ThreadPool,
    n: usize,
    placed: u64,
}

impl toll::State for Search {
    fn run(&mut self) -> u64 {
        self.pool.install(|| from([0; LARGEST], self.n, 0))
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
    let (n, threads) = (arguments["n"], arguments["threads"]);
    if !(SMALLEST as u64..=LARGEST as u64).contains(&n) {
        return Err(toll::Error::new("usage", format!("n must be {SMALLEST} to {LARGEST}, got {n}")));
    }
    if !(1..=1024).contains(&threads) {
        return Err(toll::Error::new("usage", format!("threads must be 1 to 1024, got {threads}")));
    }
    let n = n as usize;
    match rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build() {
        Ok(pool) => Ok(Box::new(Search { pool, n, placed: queens_placed([0; LARGEST], n, 0) })),
        Err(error) => Err(toll::Error::new("resource", format!("rayon cannot start its threads: {error}"))),
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
        parameters: &[
            toll::Parameter {
                name: "n",
                default: "11",
                unit: "queens",
                meaning: "queens on a board of n by n squares, 4 to 14",
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
