// tasks/matmul in Java: a ForkJoinPool; of four quarters three are RecursiveActions that are forked.

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;

final class Matmul {
    private static final int LEAF = 32; // rows of a block that is multiplied at once
    private static final int SMALLEST = 2 * LEAF;
    private static final int LARGEST = 2048;

    /** Two matrices of `n` rows and columns, and their product; modulo 2^32. */
    private record Matrices(int n, int[] left, int[] right, int[] result) {
        static Matrices of(int n) {
            Matrices made = new Matrices(n, new int[n * n], new int[n * n], new int[n * n]);
            for (int i = 0; i < n; i++) {
                for (int j = 0; j < n; j++) {
                    made.left[i * n + j] = 3 * i + j + 1;
                    made.right[i * n + j] = i + 5 * j + 2;
                }
            }
            return made;
        }

        /** What the sum over k of (3 row + k + 1) (k + 5 column + 2) comes to. */
        int element(int row, int column) {
            long size = n;
            long one = 3L * row + 1;
            long other = 5L * column + 2;
            return (int) (size * one * other + (one + other) * (size * (size - 1) / 2)
                + (size - 1) * size * (2 * size - 1) / 6);
        }
    }

    /** A product of two square blocks, by where they begin. It is added to what is there, or takes its place. */
    private static final class Product extends RecursiveAction {
        private static final long serialVersionUID = 1;
        private final transient Matrices in;
        private final int left;
        private final int right;
        private final int result;
        private final int size;
        private final boolean adds;

        Product(Matrices in, int left, int right, int result, int size, boolean adds) {
            this.in = in;
            this.left = left;
            this.right = right;
            this.result = result;
            this.size = size;
            this.adds = adds;
        }

        /** The `inner`-th of the two products that the quarter in row `i` and column `j` is the sum of. */
        private Product quarter(int i, int inner, int j) {
            int half = size / 2;
            return new Product(in, left + (i * in.n + inner) * half, right + (inner * in.n + j) * half,
                result + (i * in.n + j) * half, half, adds || inner > 0);
        }

        @Override
        protected void compute() {
            if (size == LEAF) {
                multiply();
                return;
            }
            for (int inner = 0; inner < 2; inner++) {
                Product[] forked = {quarter(0, inner, 0), quarter(0, inner, 1), quarter(1, inner, 0)};
                for (Product one : forked) {
                    one.fork();
                }
                quarter(1, inner, 1).compute();
                for (int at = forked.length - 1; at >= 0; at--) { // the last one forked is the first one still here
                    forked[at].join();
                }
            }
        }

        private void multiply() {
            int[] sums = new int[LEAF];
            for (int i = 0; i < LEAF; i++) {
                int row = result + i * in.n;
                if (adds) {
                    System.arraycopy(in.result, row, sums, 0, LEAF);
                } else {
                    Arrays.fill(sums, 0);
                }
                for (int k = 0; k < LEAF; k++) {
                    int factor = in.left[left + i * in.n + k];
                    int others = right + k * in.n;
                    for (int j = 0; j < LEAF; j++) {
                        sums[j] += factor * in.right[others + j];
                    }
                }
                System.arraycopy(sums, 0, in.result, row, LEAF);
            }
        }
    }

    /** What is asked for again and again, and how often it was. */
    private static final class Multiplier implements Toll.State {
        private final Matrices in;
        private final ForkJoinPool pool;
        private final int answer; // of the first time
        private int asked;

        Multiplier(int n, int threads) {
            in = Matrices.of(n);
            pool = new ForkJoinPool(threads);
            answer = total(in::element);
        }

        private interface OfElement {
            int at(int row, int column);
        }

        /** Of one element of each tile of 32 by 32, in the place of this time. */
        private int total(OfElement value) {
            int sum = 0;
            for (int row = asked % LEAF; row < in.n; row += LEAF) {
                for (int column = (asked + asked / LEAF) % LEAF; column < in.n; column += LEAF) {
                    sum += value.at(row, column);
                }
            }
            return sum;
        }

        /**
         * The answer of the first time, to which the difference is added of other elements from what they shall be:
         * the library wants the same one each time.
         */
        @Override
        public long run() {
            // What is looked at is spoiled before: a tile that nobody fills would still be right from the last time.
            total((row, column) -> in.result[row * in.n + column] = -1);
            pool.invoke(new Product(in, 0, 0, 0, in.n, false));
            int wrong = total((row, column) -> in.result[row * in.n + column] - in.element(row, column));
            asked = (asked + 1) % (LEAF * LEAF);
            return Integer.toUnsignedLong(answer + wrong);
        }

        @Override
        public long expected() {
            return Integer.toUnsignedLong(answer);
        }

        @Override
        public long units() {
            long products = 0;
            long each = 8;
            for (int size = in.n / 2; size >= LEAF; size /= 2) {
                products += each;
                each *= 8;
            }
            return products;
        }

        @Override
        public Map<String, Object> footing() {
            return Toll.object("threads", pool.getParallelism());
        }
    }

    private static Toll.State setUp(Map<String, Long> arguments) throws Toll.Failure {
        long n = arguments.get("n");
        long threads = arguments.get("threads");
        if (n < SMALLEST || n > LARGEST || Long.bitCount(n) != 1) {
            throw new Toll.Failure("usage", "n must be a power of two from 64 to 2048, got " + Long.toUnsignedString(n));
        }
        if (threads < 1 || threads > 1024) {
            throw new Toll.Failure("usage", "threads must be 1 to 1024, got " + Long.toUnsignedString(threads));
        }
        return new Multiplier((int) n, (int) threads);
    }

    public static void main(String[] words) {
        Toll.main(List.of(new Toll.Contender("tasks/matmul", "java_fork_join", "Java", "ns", "task", List.of(
            new Toll.Parameter("n", "256", "", "rows and columns of the matrices, a power of two from 64 to 2048"),
            new Toll.Parameter("threads", "cpus", "threads", "operating-system threads that run the tasks")),
            Matmul::setUp)), words);
    }
}
