// tasks/skynet in Rust: what tokio and rayon share.

pub const CHILDREN: u64 = 10;

/// With the threads that a contender takes by default.
pub const fn parameters(threads: &'static str) -> [toll::Parameter; 3] {
    [
        toll::Parameter {
            name: "tasks",
            default: "100000",
            unit: "leaf tasks",
            meaning: "leaves of the tree, a power of 10",
            only: "",
        },
        toll::Parameter {
            name: "threads",
            default: threads,
            unit: "threads",
            meaning: "operating-system threads that run the tasks; 0: one for each task, or as many as the runtime chooses",
            only: "",
        },
        toll::Parameter {
            name: "pinning",
            default: "none",
            unit: "",
            meaning: "none: the kernel places the threads; each_cpu: thread i is tied to the i-th CPU that the process may use, from the first again where CPUs are fewer",
            only: "this program leaves its runtime's threads to the kernel, as the library does by default",
        },
    ]
}

pub const PARAMETERS: &[toll::Parameter] = &parameters("cpus");

/// The two parameters, checked.
pub fn inputs(arguments: &toll::Arguments) -> Result<(u64, usize), toll::Error> {
    let tasks = arguments["tasks"];
    if !(0..20).any(|power| 10u64.checked_pow(power) == Some(tasks)) {
        return Err(toll::Error::new("unsupported", format!("tasks must be a power of 10, got {tasks}")));
    }
    Ok((tasks, toll::threads(arguments)?))
}

/// The root's sum.
pub fn expected(tasks: u64) -> u64 {
    tasks.wrapping_mul(tasks.wrapping_sub(1)) / 2
}

/// Nodes below the root: 10 + 100 + ... + tasks.
pub fn nodes_below_root(tasks: u64) -> u64 {
    std::iter::successors(Some(tasks), |size| Some(size / CHILDREN)).take_while(|&size| size > 1).sum()
}
