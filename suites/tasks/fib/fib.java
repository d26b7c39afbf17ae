// tasks/fib in Java: a ForkJoinPool, whose RecursiveTask forks one call and makes the other one itself.

import java.util.List;
import java.util.Map;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;

final class Fib {
    /** A call that others may make. */
    private static final class Call extends RecursiveTask<Long> {
        private static final long serialVersionUID = 1;
        private final long n;

        Call(long n) {
            this.n = n;
        }

        @Override
        protected Long compute() {
            return of(n);
        }
    }

    private static long of(long n) {
        if (n < 2) {
            return n;
        }
        Call first = new Call(n - 1);
        first.fork();
        long second = of(n - 2);
        return first.join() + second;
    }

    private record Forking(long n, ForkJoinPool pool) implements Toll.State {
        @Override
        public long run() {
            return pool.invoke(new Call(n));
        }

        @Override
        public long expected() {
            return number(n);
        }

        @Override
        public long units() {
            return number(n + 1) - 1;
        }

        @Override
        public Map<String, Object> footing() {
            return Toll.object("threads", pool.getParallelism());
        }
    }

    /** The n-th Fibonacci number, by addition. */
    private static long number(long n) {
        long before = 1;
        long found = 0;
        for (; n > 0; n--) {
            long next = before + found;
            before = found;
            found = next;
        }
        return found;
    }

    private static Toll.State setUp(Map<String, Long> arguments) throws Toll.Failure {
        long n = arguments.get("n");
        long threads = arguments.get("threads");
        if (n < 2 || n > 60) {
            throw new Toll.Failure("usage", "n must be 2 to 60, got " + Long.toUnsignedString(n));
        }
        if (threads < 1 || threads > 1024) {
            throw new Toll.Failure("usage", "threads must be 1 to 1024, got " + Long.toUnsignedString(threads));
        }
        return new Forking(n, new ForkJoinPool((int) threads));
    }

    public static void main(String[] words) {
        Toll.main(List.of(new Toll.Contender("tasks/fib", "java_fork_join", "Java", "ns", "task", List.of(
            new Toll.Parameter("n", "27", "", "which Fibonacci number; each call of 2 or more forks the one of n - 1 and makes the one of n - 2 itself"),
            new Toll.Parameter("threads", "cpus", "threads", "operating-system threads that run the tasks")),
            Fib::setUp)), words);
    }
}
