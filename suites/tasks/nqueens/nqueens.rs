// tasks/nqueens in Rust: what rayon and tokio share.

pub const SMALLEST: usize = 4;
pub const LARGEST: usize = 14;
/// Solutions on boards of `SMALLEST` and more.
pub const SOLUTIONS: [u64; LARGEST - SMALLEST + 1] = [2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712, 365_596];

/// The row of the queen in each column so far.
pub type Board<const N: usize> = [i8; N];

/// `$work` with the constant `$size` that `$n` is: the compiler knows the board's size, as it does in C++.
macro_rules! of_size {
    ($n:expr, $size:ident => $work:expr) => {
        of_size!($n, $size => $work, 4 5 6 7 8 9 10 11 12 13 14)
    };
    ($n:expr, $size:ident => $work:expr, $($known:literal)*) => {
        match $n {
            $($known => {
                const $size: usize = $known;
                $work
            })*
            n => unreachable!("inputs() let a board of {n} through"),
        }
    };
}
pub(crate) use of_size;

fn is_free<const N: usize>(board: &Board<N>, placed: usize, row: usize) -> bool {
    board[..placed].iter().enumerate().all(|(column, &queen)| {
        let (queen, row, apart) = (i32::from(queen), row as i32, (placed - column) as i32);
        queen != row && queen != row - apart && queen != row + apart
    })
}

/// Rows of the next column that no queen threatens, and how many.
pub fn free<const N: usize>(board: &Board<N>, placed: usize) -> (Board<N>, usize) {
    let (mut rows, mut count) = ([0; N], 0);
    for row in 0..N {
        if is_free(board, placed, row) {
            rows[count] = row as i8;
            count += 1;
        }
    }
    (rows, count)
}

/// How many queens all tries place together.
pub fn queens_placed<const N: usize>(mut board: Board<N>, placed: usize) -> u64 {
    if placed == N {
        return 0;
    }
    let (rows, count) = free(&board, placed);
    let mut sum = count as u64;
    for &row in &rows[..count] {
        board[placed] = row;
        sum += queens_placed(board, placed + 1);
    }
    sum
}

pub const PARAMETERS: &[toll::Parameter] = &[
    toll::Parameter {
        name: "n",
        default: "11",
        unit: "queens",
        meaning: "queens on a board of n by n squares, 4 to 14",
        only: "",
    },
    toll::THREADS,
];

/// The two parameters, checked.
pub fn inputs(arguments: &toll::Arguments) -> Result<(usize, usize), toll::Error> {
    let n = toll::number(arguments, "n", SMALLEST as u64..=LARGEST as u64)?;
    Ok((n as usize, toll::threads(arguments)?))
}
