// tasks/nqueens in Java: a ForkJoinPool; each queen of a column but the last is a RecursiveTask that is forked.

import java.util.List;
import java.util.Map;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;

final class Nqueens {
    private static final int SMALLEST = 4;
    private static final int LARGEST = 14;
    /** Solutions on boards of SMALLEST and more. */
    private static final long[] SOLUTIONS = {2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712, 365_596};

    /** A board with the queens of its first columns. */
    private static final class Placed extends RecursiveTask<Long> {
        private static final long serialVersionUID = 1;
        private final byte[] rows; // of the queen in each of the first columns; nobody changes them
        private final int column; // the next one

        Placed(byte[] rows, int column) {
            this.rows = rows;
            this.column = column;
        }

        private Placed with(int row) {
            byte[] next = rows.clone();
            next[column] = (byte) row;
            return new Placed(next, column + 1);
        }

        @Override
        protected Long compute() {
            if (column == rows.length) {
                return 1L;
            }
            byte[] free = new byte[rows.length];
            int count = free(rows, column, free);
            if (count == 0) {
                return 0L;
            }
            Placed[] forked = new Placed[count - 1];
            for (int i = 0; i < forked.length; i++) {
                forked[i] = with(free[i]);
                forked[i].fork();
            }
            long sum = with(free[count - 1]).compute();
            for (int i = forked.length - 1; i >= 0; i--) { // the last one forked is the first one still here
                sum += forked[i].join();
            }
            return sum;
        }
    }

    private record Search(int n, long placed, ForkJoinPool pool) implements Toll.State {
        @Override
        public long run() {
            return pool.invoke(new Placed(new byte[n], 0));
        }

        @Override
        public long expected() {
            return SOLUTIONS[n - SMALLEST];
        }

        @Override
        public long units() {
            return placed;
        }

        @Override
        public Map<String, Object> footing() {
            return Toll.object("threads", pool.getParallelism());
        }
    }

    /** Rows of the next column that no queen of the first `placed` threatens; how many. */
    private static int free(byte[] rows, int placed, byte[] found) {
        int count = 0;
        for (int row = 0; row < rows.length; row++) {
            if (isFree(rows, placed, row)) {
                found[count++] = (byte) row;
            }
        }
        return count;
    }

    private static boolean isFree(byte[] rows, int placed, int row) {
        for (int column = 0; column < placed; column++) {
            int queen = rows[column];
            int apart = placed - column;
            if (queen == row || queen == row - apart || queen == row + apart) {
                return false;
            }
        }
        return true;
    }

    /** How many queens all tries place together. */
    private static long queensPlaced(byte[] rows, int placed) {
        if (placed == rows.length) {
            return 0;
        }
        byte[] free = new byte[rows.length];
        int count = free(rows, placed, free);
        long sum = count;
        for (int i = 0; i < count; i++) {
            rows[placed] = free[i];
            sum += queensPlaced(rows, placed + 1);
        }
        return sum;
    }

    private static Toll.State setUp(Map<String, Long> arguments) throws Toll.Failure {
        long n = arguments.get("n");
        long threads = arguments.get("threads");
        if (n < SMALLEST || n > LARGEST) {
            throw new Toll.Failure("usage", "n must be 4 to 14, got " + Long.toUnsignedString(n));
        }
        if (threads < 1 || threads > 1024) {
            throw new Toll.Failure("usage", "threads must be 1 to 1024, got " + Long.toUnsignedString(threads));
        }
        return new Search((int) n, queensPlaced(new byte[(int) n], 0), new ForkJoinPool((int) threads));
    }

    public static void main(String[] words) {
        Toll.main(List.of(new Toll.Contender("tasks/nqueens", "java_fork_join", "Java", "ns", "task", List.of(
            new Toll.Parameter("n", "11", "queens", "queens on a board of n by n squares, 4 to 14"),
            new Toll.Parameter("threads", "cpus", "threads", "operating-system threads that run the tasks")),
            Nqueens::setUp)), words);
    }
}
