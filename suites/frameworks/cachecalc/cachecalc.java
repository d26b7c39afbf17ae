// frameworks/cachecalc in Java: a virtual thread for each task, a ReentrantLock around the map, Thread.sleep.

import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

final class Cachecalc {
    private static final int KEYS = 10;
    private static final int FIRST_VALUE = 10_000;
    private static final int STAMPED_EVERY = 16;

    /** What the tasks compute on. */
    private static final class Cache {
        private final ReentrantLock lock = new ReentrantLock();
        private final Map<String, String> values = new HashMap<>();

        void compute() {
            lock.lock();
            try {
                for (int i = 0; i < KEYS; i++) {
                    String key = "hello" + i;
                    String text = values.get(key);
                    values.put(key, Integer.toString((text == null ? FIRST_VALUE : Integer.parseInt(text)) + 1));
                }
            } finally {
                lock.unlock();
            }
        }

        boolean holds(long computations) {
            String right = Long.toString(FIRST_VALUE + computations);
            return values.size() == KEYS && values.values().stream().allMatch(right::equals);
        }
    }

    private record Load(int tasks, int threads, Duration pause, long[] waits) implements Toll.State {
        private void task(Cache cache, int number, CountDownLatch left) {
            try {
                cache.compute();
                long begin = number % STAMPED_EVERY == 0 ? System.nanoTime() : 0;
                Thread.sleep(pause);
                if (number % STAMPED_EVERY == 0) {
                    waits[number / STAMPED_EVERY] = System.nanoTime() - begin;
                }
                cache.compute();
            } catch (InterruptedException nobodyInterrupts) {
                throw new IllegalStateException(nobodyInterrupts);
            } finally {
                left.countDown();
            }
        }

        @Override
        public long run() throws Exception {
            Cache cache = new Cache();
            // Joined one by one, the tasks would wake this thread of the system's again and again.
            CountDownLatch left = new CountDownLatch(tasks);
            for (int i = 0; i < tasks; i++) {
                int number = i;
                Thread.startVirtualThread(() -> task(cache, number, left));
            }
            left.await();
            if (!cache.holds(2L * tasks)) {
                throw new Toll.Failure("wrong_answer", "a key of the map does not hold what its tasks computed");
            }
            Arrays.sort(waits);
            if (waits[0] < pause.toNanos()) {
                throw new Toll.Failure("wrong_answer", "a task waited " + waits[0] + " ns instead of " + pause.toNanos());
            }
            return tasks;
        }

        @Override
        public long expected() {
            return tasks;
        }

        @Override
        public long units() {
            return tasks;
        }

        @Override
        public Map<String, Object> footing() {
            return Toll.object("threads", threads, "serialized_by", "ReentrantLock",
                "waits", "virtual thread sleeps; its carrier runs others");
        }

        @Override
        public Map<String, Object> details() {
            return Toll.object("wait_median_us", waits[waits.length / 2] / 1e3,
                "wait_longest_us", waits[waits.length - 1] / 1e3);
        }
    }

    private static Toll.State setUp(Map<String, Long> arguments) throws Toll.Failure {
        long tasks = arguments.get("tasks");
        long threads = arguments.get("threads");
        long wait = arguments.get("wait_us");
        if (tasks < 1 || tasks > 10_000_000 || threads < 1 || threads > 1024 || wait < 0 || wait > 1_000_000) {
            throw new Toll.Failure("usage",
                "tasks must be 1 to 10000000, threads 1 to 1024, wait_us 1000000 at most");
        }
        // The scheduler reads this when the first virtual thread starts.
        System.setProperty("jdk.virtualThreadScheduler.parallelism", Long.toString(threads));
        return new Load((int) tasks, (int) threads, Duration.ofNanos(wait * 1_000),
            new long[(int) (tasks + STAMPED_EVERY - 1) / STAMPED_EVERY]);
    }

    public static void main(String[] words) {
        Toll.main(List.of(new Toll.Contender("frameworks/cachecalc", "java_virtual_threads", "Java", "ns", "task", List.of(
            new Toll.Parameter("tasks", "1000", "tasks", "tasks of one iteration"),
            new Toll.Parameter("wait_us", "8", "us", "what each task waits between its two computations"),
            new Toll.Parameter("threads", "cpus", "threads", "threads of the contender's pool, or of its runtime")),
            Cachecalc::setUp)), words);
    }
}
