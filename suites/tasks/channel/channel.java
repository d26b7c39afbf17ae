// tasks/channel in Java: a virtual thread for each producer and each consumer, one ArrayBlockingQueue.

import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;

final class Channel {
    private static final int CAPACITY = 1024;
    /** Behind all others, one for each consumer: the queue cannot be closed. */
    private static final Long END = 0L;

    private record Received(long count, long sum) {}

    private record Sides(long messages, int threads, int sides) implements Toll.State {
        /** What producer `index` sends begins with this. */
        private long first(long index) {
            return 1 + index * (messages / sides) + Math.min(index, messages % sides);
        }

        @Override
        public long run() throws Exception {
            ArrayBlockingQueue<Long> queue = new ArrayBlockingQueue<>(CAPACITY);
            Thread[] producers = new Thread[sides];
            Thread[] consumers = new Thread[sides];
            Received[] received = new Received[sides];
            for (int i = 0; i < sides; i++) {
                int index = i;
                producers[i] = Thread.startVirtualThread(() -> produce(queue, index));
                consumers[i] = Thread.startVirtualThread(() -> received[index] = consume(queue));
            }
            for (Thread producer : producers) {
                producer.join();
            }
            for (int i = 0; i < sides; i++) {
                queue.put(END);
            }
            long count = 0;
            long sum = 0;
            for (int i = 0; i < sides; i++) {
                consumers[i].join();
                count += received[i].count;
                sum += received[i].sum;
            }
            if (count != messages) {
                throw new Toll.Failure("wrong_answer", count + " messages came of " + messages);
            }
            return sum;
        }

        private void produce(ArrayBlockingQueue<Long> queue, int index) {
            try {
                long end = first(index + 1L); // a division, which the compiler cannot take out of the loop over put()
                for (long number = first(index); number < end; number++) {
                    queue.put(number);
                }
            } catch (InterruptedException nobodyInterrupts) {
                throw new IllegalStateException(nobodyInterrupts);
            }
        }

        private static Received consume(ArrayBlockingQueue<Long> queue) {
            try {
                long count = 0;
                long sum = 0;
                for (long number = queue.take(); number != END; number = queue.take()) {
                    count++;
                    sum += number;
                }
                return new Received(count, sum);
            } catch (InterruptedException nobodyInterrupts) {
                throw new IllegalStateException(nobodyInterrupts);
            }
        }

        @Override
        public long expected() {
            return messages * (messages + 1) / 2;
        }

        @Override
        public long units() {
            return messages;
        }

        @Override
        public Map<String, Object> footing() {
            return Toll.object("threads", threads, "producers", sides, "consumers", sides);
        }
    }

    private static Toll.State setUp(Map<String, Long> arguments) throws Toll.Failure {
        long messages = arguments.get("messages");
        long threads = arguments.get("threads");
        if (messages < 1 || messages > 1_000_000_000) {
            throw new Toll.Failure("usage", "messages must be 1 to 1000000000, got " + Long.toUnsignedString(messages));
        }
        if (threads < 1 || threads > 1024) {
            throw new Toll.Failure("usage", "threads must be 1 to 1024, got " + Long.toUnsignedString(threads));
        }
        // The scheduler reads this when the first virtual thread starts.
        System.setProperty("jdk.virtualThreadScheduler.parallelism", Long.toString(threads));
        return new Sides(messages, (int) threads, (int) Math.max(1, threads / 2));
    }

    public static void main(String[] words) {
        Toll.main(List.of(new Toll.Contender("tasks/channel", "java_array_blocking_queue", "Java", "ns", "message", List.of(
            new Toll.Parameter("messages", "100000", "messages", "numbers that go through the channel, of all producers"),
            new Toll.Parameter("threads", "cpus", "threads", "operating-system threads that run half as many producers and consumers each, at least one")),
            Channel::setUp)), words);
    }
}
