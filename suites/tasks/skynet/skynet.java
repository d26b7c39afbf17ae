// tasks/skynet in Java: a virtual thread for each node below the root, results through join.

import java.util.List;
import java.util.Map;

final class Skynet {
    private static final int CHILDREN = 10;

    /** One node; `sum` is read by the parent after the join. */
    private static class Node implements Runnable {
        private final long ordinal;
        private final long size;
        private long sum;

        Node(long ordinal, long size) {
            this.ordinal = ordinal;
            this.size = size;
        }

        Node child(long first, long leaves) {
            return new Node(first, leaves);
        }

        @Override
        public void run() {
            if (size == 1) {
                sum = ordinal;
                return;
            }
            Node[] nodes = new Node[CHILDREN];
            Thread[] threads = new Thread[CHILDREN];
            for (int i = 0; i < CHILDREN; i++) {
                nodes[i] = child(ordinal + i * (size / CHILDREN), size / CHILDREN);
                threads[i] = Thread.startVirtualThread(nodes[i]);
            }
            try {
                for (int i = 0; i < CHILDREN; i++) {
                    threads[i].join();
                    sum += nodes[i].sum;
                }
            } catch (InterruptedException nobodyInterrupts) {
                throw new IllegalStateException(nobodyInterrupts);
            }
        }
    }

    /** A node of the counting pass, which nobody times; the class is not even loaded elsewhere. */
    private static final class CountedNode extends Node {
        private final Units units;

        CountedNode(Units units, long ordinal, long size) {
            super(ordinal, size);
            this.units = units;
            units.made();
        }

        @Override
        Node child(long first, long leaves) {
            return new CountedNode(units, first, leaves);
        }

        @Override
        public void run() {
            super.run();
            units.ended();
        }
    }

    private record Tree(long tasks, int threads) implements Toll.State {
        @Override
        public long run() throws InterruptedException {
            return sum(new Node(0, tasks));
        }

        private static long sum(Node root) throws InterruptedException {
            Thread.startVirtualThread(root).join(); // virtual as well: its parking then costs no kernel thread
            return root.sum;
        }

        @Override
        public long expected() {
            return tasks * (tasks - 1) / 2;
        }

        @Override
        public long units() {
            return tasks;
        }

        @Override
        public Map<String, Object> footing() throws Exception {
            long units = 1; // the root is a virtual thread too
            for (long size = tasks; size > 1; size /= CHILDREN) {
                units += size;
            }
            Map<String, Object> footing = Toll.object("threads", threads, "units_created", units, "results", "join");
            if (Units.wanted()) {
                Units counted = new Units();
                if (sum(new CountedNode(counted, 0, tasks)) != expected()) {
                    throw new Toll.Failure("wrong_answer", "the sum is wrong while units are counted");
                }
                counted.tell(footing);
            }
            return footing;
        }
    }

    private static Toll.State setUp(Map<String, Long> arguments) throws Toll.Failure {
        long tasks = arguments.get("tasks");
        long threads = arguments.get("threads");
        if (!Long.toUnsignedString(tasks).matches("10{0,17}")) {
            throw new Toll.Failure("unsupported",
                "tasks must be a power of 10, got " + Long.toUnsignedString(tasks));
        }
        if (threads < 1 || threads > 1024) {
            throw new Toll.Failure("usage", "threads must be 1 to 1024, got " + Long.toUnsignedString(threads));
        }
        // The scheduler reads this when the first virtual thread starts.
        System.setProperty("jdk.virtualThreadScheduler.parallelism", Long.toString(threads));
        return new Tree(tasks, (int) threads);
    }

    public static void main(String[] words) {
        Toll.main(List.of(new Toll.Contender("tasks/skynet", "java_virtual_threads", "Java", "ns", "task", List.of(
            new Toll.Parameter("tasks", "100000", "leaf tasks", "leaves of the tree, a power of 10"),
            new Toll.Parameter("threads", "cpus", "threads", "operating-system threads that run the tasks; 0: one for each task, or as many as the runtime chooses"),
            new Toll.Parameter("pinning", "none", "", "none: the kernel places the threads; each_cpu: thread i is tied to the i-th CPU that the process may use, from the first again where CPUs are fewer")
                .onlyThat("the JVM makes the threads that carry virtual ones, and offers no way to tie them")),
            Skynet::setUp)), words);
    }
}
