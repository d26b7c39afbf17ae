// tasks/skynet with tokio: a task for each node below the root, results through join handles.

mod skynet;

use serde_json::{json, Map, Value};
use skynet::{expected, inputs, nodes_below_root, parameters, CHILDREN, PARAMETERS};
use toll::units::{counted, Counted, Uncounted, Units};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

// Not an async function: it spawns itself, and through the handle's type the recursion needs no box.
fn skynet<U: Units>(ordinal: u64, size: u64) -> JoinHandle<u64> {
    U::made();
    tokio::spawn(async move {
        if size == 1 {
            return ordinal;
        }
        let step = size / CHILDREN;
        let children: [_; CHILDREN as usize] = std::array::from_fn(|i| skynet::<U>(ordinal + i as u64 * step, step));
        let mut sum = 0;
        for child in children {
            sum += child.await.expect("a child panicked");
            U::ended(); // a task's memory is held by its handle
        }
        sum
    })
}

struct Tree {
    runtime: Runtime,
    tasks: u64,
    threads: usize,
}

impl Tree {
    fn sum<U: Units>(&self) -> u64 {
        self.runtime.block_on(async { skynet::<U>(0, self.tasks).await.expect("the root panicked") })
    }
}

impl toll::State for Tree {
    fn run(&mut self) -> u64 {
        self.sum::<Uncounted>()
    }

    fn expected(&self) -> u64 {
        expected(self.tasks)
    }

    fn units(&self) -> u64 {
        self.tasks
    }

    fn footing(&self) -> serde_json::Value {
        let derived = nodes_below_root(self.tasks) + 1;
        json!({"threads": self.threads, "units_created": derived, "results": "join handle"})
    }

    fn counted(&self) -> Result<Map<String, Value>, toll::Error> {
        counted(self.expected(), || self.sum::<Counted>())
    }
}

fn multi_thread(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    let (tasks, threads) = inputs(arguments)?;
    let runtime = Builder::new_multi_thread().worker_threads(threads).build();
    made(runtime, tasks, threads)
}

fn current_thread(arguments: &toll::Arguments) -> Result<Box<dyn toll::State>, toll::Error> {
    let (tasks, threads) = inputs(arguments)?;
    if threads != 1 {
        return Err(toll::Error::new("unsupported", "a current_thread runtime has one thread; ask for threads=1"));
    }
    made(Builder::new_current_thread().build(), tasks, threads)
}

fn made(runtime: std::io::Result<Runtime>, tasks: u64, threads: usize) -> Result<Box<dyn toll::State>, toll::Error> {
    match runtime {
        Ok(runtime) => Ok(Box::new(Tree { runtime, tasks, threads })),
        Err(error) => Err(toll::Error::no_threads("tokio", error)),
    }
}

const ONE_THREAD: &[toll::Parameter] = &parameters("1");

fn main() -> std::process::ExitCode {
    let offered = |name, parameters, set_up| toll::Contender {
        workload: "tasks/skynet",
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
