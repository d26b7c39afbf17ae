// tasks/matmul in Rust: what rayon and tokio share.

use serde_json::json;

pub const LEAF: usize = 32; // rows of a block that is multiplied at once
const SMALLEST: u64 = 64;
const LARGEST: u64 = 2048;

/// Modulo 2^32, so that no sum overflows.
type Element = u32;

/// A product of two square blocks, which lie in matrices of `stride` columns. It is added to what is in the
/// result, or takes its place.
#[derive(Clone, Copy)]
pub struct Product {
    left: *const Element,
    right: *const Element,
    result: *mut Element,
    pub size: usize,
    stride: usize,
    adds: bool,
}

// SAFETY: products that are done at the same time have results of their own, and nobody writes what they read.
unsafe impl Send for Product {}
unsafe impl Sync for Product {}

impl Product {
    /// The `inner`-th of the two products that the quarter in row `i` and column `j` is the sum of.
    pub fn quarter(&self, i: usize, inner: usize, j: usize) -> Product {
        let half = self.size / 2;
        // SAFETY: within the block, which lies in its matrix.
        unsafe {
            Product {
                left: self.left.add((i * self.stride + inner) * half),
                right: self.right.add((inner * self.stride + j) * half),
                result: self.result.add((i * self.stride + j) * half),
                size: half,
                stride: self.stride,
                adds: self.adds || inner > 0,
            }
        }
    }

    /// Of a block of `LEAF` rows.
    pub fn multiply(&self) {
        // SAFETY: the block lies in its matrix, and nobody else works on the result.
        unsafe { self.multiply_rows() }
    }

    unsafe fn multiply_rows(&self) {
        for i in 0..LEAF {
            let row = &mut *self.result.add(i * self.stride).cast::<[Element; LEAF]>();
            let factors = &*self.left.add(i * self.stride).cast::<[Element; LEAF]>();
            let mut sums = if self.adds { *row } else { [0; LEAF] };
            for (k, &factor) in factors.iter().enumerate() {
                let others = &*self.right.add(k * self.stride).cast::<[Element; LEAF]>();
                for (sum, &other) in sums.iter_mut().zip(others) {
                    *sum = sum.wrapping_add(factor.wrapping_mul(other));
                }
            }
            *row = sums;
        }
    }
}

/// What a contender brings: its threads.
pub trait Threads {
    /// Does all of a product.
    fn multiply(&self, all: Product);

    fn count(&self) -> usize;
}

/// What is asked for again and again, and how often it was.
struct Multiplier<T> {
    threads: T,
    n: usize,
    left: Vec<Element>,
    right: Vec<Element>,
    result: Vec<Element>,
    asked: usize,
    answer: Element, // of the first time
}

/// One element of each tile of 32 by 32, in the place of this time.
fn tiles(n: usize, asked: usize) -> impl Iterator<Item = (usize, usize)> {
    let (row, column) = (asked % LEAF, (asked + asked / LEAF) % LEAF);
    (row..n).step_by(LEAF).flat_map(move |i| (column..n).step_by(LEAF).map(move |j| (i, j)))
}

/// What the sum over k of (3 row + k + 1) (k + 5 column + 2) comes to.
fn element(n: usize, (row, column): (usize, usize)) -> Element {
    let (n, one, other) = (n as u64, 3 * row as u64 + 1, 5 * column as u64 + 2);
    (n * one * other + (one + other) * (n * (n - 1) / 2) + (n - 1) * n * (2 * n - 1) / 6) as Element
}

impl<T: Threads> toll::State for Multiplier<T> {
    /// The answer of the first time, to which the difference is added of other elements from what they shall
    /// be: the library wants the same one each time.
    fn run(&mut self) -> u64 {
        let n = self.n;
        // What is looked at is spoiled before: a tile that nobody fills would still be right from the last time.
        for (row, column) in tiles(n, self.asked) {
            self.result[row * n + column] = Element::MAX;
        }
        let (left, right, result) = (self.left.as_ptr(), self.right.as_ptr(), self.result.as_mut_ptr());
        let all = Product { left, right, result, size: n, stride: n, adds: false };
        self.threads.multiply(all);
        let answer = tiles(n, self.asked).fold(self.answer, |sum, (row, column)| {
            sum.wrapping_add(self.result[row * n + column]).wrapping_sub(element(n, (row, column)))
        });
        self.asked += 1;
        u64::from(answer)
    }

    fn expected(&self) -> u64 {
        u64::from(self.answer)
    }

    fn units(&self) -> u64 {
        let (mut products, mut each, mut size) = (0, 8, self.n / 2);
        while size >= LEAF {
            products += each;
            each *= 8;
            size /= 2;
        }
        products
    }

    fn footing(&self) -> serde_json::Value {
        json!({"threads": self.threads.count()})
    }
}

/// `start` makes so many threads, or says why it cannot.
pub fn set_up<T: Threads + 'static>(
    arguments: &toll::Arguments,
    start: impl Fn(usize) -> Result<T, toll::Error>,
) -> Result<Box<dyn toll::State>, toll::Error> {
    let n = arguments["n"];
    if !(SMALLEST..=LARGEST).contains(&n) || !n.is_power_of_two() {
        let message = format!("n must be a power of two from {SMALLEST} to {LARGEST}, got {n}");
        return Err(toll::Error::new("usage", message));
    }
    let n = n as usize;
    let of = |value: fn(usize, usize) -> usize| (0..n * n).map(|at| value(at / n, at % n) as Element).collect();
    let threads = start(toll::threads(arguments)?)?;
    Ok(Box::new(Multiplier {
        threads,
        n,
        left: of(|i, j| 3 * i + j + 1),
        right: of(|i, j| i + 5 * j + 2),
        result: vec![0; n * n],
        asked: 0,
        answer: tiles(n, 0).fold(0, |sum: Element, at| sum.wrapping_add(element(n, at))),
    }))
}

pub const PARAMETERS: &[toll::Parameter] = &[
    toll::Parameter {
        name: "n",
        default: "256",
        unit: "",
        meaning: "rows and columns of the matrices, a power of two from 64 to 2048",
        only: "",
    },
    toll::THREADS,
];
