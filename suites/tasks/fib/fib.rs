// tasks/fib in Rust: what rayon and tokio share.

/// The n-th Fibonacci number, by addition.
pub fn number(n: u64) -> u64 {
    (0..n).fold((1, 0), |(before, found), _| (found, before + found)).1
}

/// Calls of 2 or more.
pub fn forks(n: u64) -> u64 {
    number(n + 1) - 1
}

pub const PARAMETERS: &[toll::Parameter] = &[
    toll::Parameter {
        name: "n",
        default: "27",
        unit: "",
        meaning: "which Fibonacci number; each call of 2 or more forks the one of n - 1 and makes the one of n - 2 itself",
        only: "",
    },
    toll::THREADS,
];

/// The two parameters, checked.
pub fn inputs(arguments: &toll::Arguments) -> Result<(u64, usize), toll::Error> {
    Ok((toll::number(arguments, "n", 2..=60)?, toll::threads(arguments)?))
}
