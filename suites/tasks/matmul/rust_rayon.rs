// tasks/matmul with rayon: the four quarters as two pairs, each by join; then those that are added to them.

mod matmul;

use matmul::{set_up, Product, Threads, LEAF, PARAMETERS};

fn multiply(block: &Product) {
    if block.size == LEAF {
        return block.multiply();
    }
    for inner in 0..2 {
        let quarter = |i, j| multiply(&block.quarter(i, inner, j));
        rayon::join(
            || rayon::join(|| quarter(0, 0), || quarter(0, 1)),
            || rayon::join(|| quarter(1, 0), || quarter(1, 1)),
        );
    }
}

struct Pool(rayon::ThreadPool);

impl Threads for Pool {
    fn multiply(&self, all: Product) {
        self.0.install(|| multiply(&all));
    }

    fn count(&self) -> usize {
        self.0.current_num_threads()
    }
}

fn start(threads: usize) -> Result<Pool, toll::Error> {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => Ok(Pool(pool)),
        Err(error) => Err(toll::Error::no_threads("rayon", error)),
    }
}

fn main() -> std::process::ExitCode {
    toll::main(&[toll::Contender {
        workload: "tasks/matmul",
        name: "rust_rayon",
        library: "rayon",
        library_version: toll::locked_version(include_str!("Cargo.lock"), "rayon"),
        unit: "ns",
        per: "task",
        parameters: PARAMETERS,
        set_up: |arguments| set_up(arguments, start),
    }])
}
