// tasks/socket in Java: one thread a side with a Selector, and virtual threads that block, one for each end.

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

final class Socket {
    private static final int WORDS = 8;
    private static final int BYTES = 8 * WORDS;
    /** Goroutines have as many: one for each side. */
    private static final int THREADS = 2;

    /** Both ends of a connection over loopback. */
    private record Ends(SocketChannel client, SocketChannel server) {}

    /** What one connection asks: `count` numbers from `first` on. */
    private record Share(long first, long count) {
        static Share of(long requests, int connections, int index) {
            long each = requests / connections;
            long longer = requests % connections;
            return index < longer ? new Share(1 + index * (each + 1), each + 1)
                : new Share(1 + index * each + longer, each);
        }
    }

    /** One end of a connection, with the message that is under way on it: outside the heap, so that none is copied. */
    private static final class End {
        final SocketChannel channel;
        private final ByteBuffer message = ByteBuffer.allocateDirect(BYTES).order(ByteOrder.LITTLE_ENDIAN);
        long next;
        long left;

        End(SocketChannel channel) {
            this.channel = channel;
        }

        void take(Share share) {
            next = share.first;
            left = share.count;
        }

        void ask() throws IOException {
            for (int i = 0; i < WORDS; i++) {
                message.putLong(8 * i, next + i);
            }
            send();
        }

        void answer() throws IOException {
            for (int i = 0; i < WORDS; i++) {
                message.putLong(8 * i, 2 * message.getLong(8 * i));
            }
            send();
        }

        /** Twice the number that was asked, or 0 where that is not the answer. */
        long checked() {
            for (int i = 0; i < WORDS; i++) {
                if (message.getLong(8 * i) != 2 * (next + i)) {
                    return 0;
                }
            }
            return message.getLong(0);
        }

        /** All of it: one message is under way on a connection, and a socket has room for it. */
        private void send() throws IOException {
            message.clear();
            int sent = channel.write(message);
            if (sent != BYTES) {
                throw new IOException("a socket took " + sent + " of " + BYTES + " bytes");
            }
            message.clear();
        }

        /** Whether the message is whole now. It may come in parts. */
        boolean read() throws IOException {
            if (channel.read(message) < 0) {
                throw new ClosedChannelException();
            }
            return !message.hasRemaining();
        }

        /** Reads on until the message is whole; blocks. */
        void readWhole() throws IOException {
            while (!read()) {
            }
        }
    }

    private abstract static class Sides implements Toll.State {
        final long requests;
        final List<Ends> connections;

        Sides(long requests, List<Ends> connections) {
            this.requests = requests;
            this.connections = connections;
        }

        Share share(int index) {
            return Share.of(requests, connections.size(), index);
        }

        /** So that whoever waits for an answer is told, and the process ends. */
        final void closeServers() {
            for (Ends ends : connections) {
                try {
                    ends.server.close();
                } catch (IOException closedAllTheSame) {
                    continue;
                }
            }
        }

        @Override
        public final long expected() {
            return requests * (requests + 1);
        }

        @Override
        public final long units() {
            return requests;
        }

        @Override
        public final Map<String, Object> footing() {
            return Toll.object("connections", connections.size(), "threads", THREADS);
        }
    }

    /** A thread a side, which waits for all its sockets at once. */
    private static final class Selectors extends Sides {
        private final Selector clients = Selector.open();
        private final End[] asking;

        Selectors(long requests, List<Ends> connections) throws IOException {
            super(requests, connections);
            Selector servers = Selector.open();
            asking = new End[connections.size()];
            for (int i = 0; i < asking.length; i++) {
                asking[i] = watched(connections.get(i).client, clients);
                watched(connections.get(i).server, servers);
            }
            Thread.ofPlatform().daemon().name("answers").start(() -> serve(servers));
        }

        private static End watched(SocketChannel channel, Selector selector) throws IOException {
            End end = new End(channel);
            channel.configureBlocking(false);
            channel.register(selector, SelectionKey.OP_READ, end);
            return end;
        }

        private void serve(Selector servers) {
            try {
                while (true) {
                    servers.select(Selectors::answerIfWhole);
                }
            } catch (IOException | RuntimeException closed) {
                closeServers();
            }
        }

        private static void answerIfWhole(SelectionKey key) {
            End end = (End) key.attachment();
            try {
                if (end.read()) {
                    end.answer();
                }
            } catch (IOException closed) {
                throw new UncheckedIOException(closed);
            }
        }

        /** What one iteration has so far. */
        private static final class Asked {
            long sum;
            int open;

            void next(SelectionKey key) {
                End end = (End) key.attachment();
                try {
                    if (!end.read()) {
                        return;
                    }
                    sum += end.checked();
                    end.next++;
                    if (--end.left == 0) {
                        open--;
                    } else {
                        end.ask();
                    }
                } catch (IOException closed) {
                    throw new UncheckedIOException(closed);
                }
            }
        }

        @Override
        public long run() throws IOException {
            Asked asked = new Asked();
            for (int i = 0; i < asking.length; i++) {
                asking[i].take(share(i));
                if (asking[i].left > 0) {
                    asked.open++;
                    asking[i].ask();
                }
            }
            while (asked.open > 0) {
                clients.select(asked::next);
            }
            return asked.sum;
        }
    }

    /** A virtual thread for each end of a connection, as one writes servers today. */
    private static final class VirtualThreads extends Sides {
        private final End[] asking;

        VirtualThreads(long requests, List<Ends> connections) {
            super(requests, connections);
            asking = connections.stream().map(ends -> new End(ends.client)).toArray(End[]::new);
            for (Ends ends : connections) {
                Thread.startVirtualThread(() -> serve(new End(ends.server)));
            }
        }

        private void serve(End end) {
            try {
                while (true) {
                    end.readWhole();
                    end.answer();
                }
            } catch (IOException | RuntimeException closed) {
                closeServers();
            }
        }

        private static long ask(End end, Share share) throws IOException {
            end.take(share);
            long sum = 0;
            for (; end.left > 0; end.left--, end.next++) {
                end.ask();
                end.readWhole();
                sum += end.checked();
            }
            return sum;
        }

        @Override
        public long run() throws Exception {
            List<FutureTask<Long>> sums = new ArrayList<>(asking.length);
            for (int i = 0; i < asking.length; i++) {
                End end = asking[i];
                Share share = share(i);
                FutureTask<Long> task = new FutureTask<>(() -> ask(end, share));
                sums.add(task);
                Thread.startVirtualThread(task);
            }
            long sum = 0;
            for (FutureTask<Long> task : sums) {
                try {
                    sum += task.get();
                } catch (ExecutionException failed) {
                    throw failed.getCause() instanceof Exception cause ? cause : failed;
                }
            }
            return sum;
        }
    }

    private static Ends connect(ServerSocketChannel listener) throws IOException {
        SocketChannel client = SocketChannel.open(listener.getLocalAddress());
        SocketChannel server = listener.accept();
        client.setOption(StandardSocketOptions.TCP_NODELAY, true);
        server.setOption(StandardSocketOptions.TCP_NODELAY, true);
        return new Ends(client, server);
    }

    private static List<Ends> connect(long count) throws Toll.Failure {
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0));
            List<Ends> all = new ArrayList<>((int) count);
            for (long i = 0; i < count; i++) {
                all.add(connect(listener));
            }
            return all;
        } catch (IOException error) {
            throw new Toll.Failure("resource", "cannot connect over loopback: " + error.getMessage());
        }
    }

    private interface Made {
        Toll.State of(long requests, List<Ends> connections) throws IOException;
    }

    private static Toll.State setUp(Map<String, Long> arguments, Made made) throws Exception {
        long requests = arguments.get("requests");
        long connections = arguments.get("connections");
        if (requests < 1 || requests > 1_000_000_000) {
            throw new Toll.Failure("usage", "requests must be 1 to 1000000000, got " + Long.toUnsignedString(requests));
        }
        if (connections < 1 || connections > 400) {
            throw new Toll.Failure("usage", "connections must be 1 to 400, got " + Long.toUnsignedString(connections));
        }
        // The scheduler reads this when the first virtual thread starts.
        System.setProperty("jdk.virtualThreadScheduler.parallelism", Integer.toString(THREADS));
        return made.of(requests, connect(connections));
    }

    private static Toll.Contender contender(String name, Made made) {
        return new Toll.Contender("tasks/socket", name, "Java", "ns", "request", List.of(
            new Toll.Parameter("requests", "10000", "requests", "requests over all connections, each with its answer"),
            new Toll.Parameter("connections", "20", "connections", "TCP connections over loopback, open all along")),
            arguments -> setUp(arguments, made));
    }

    public static void main(String[] words) {
        Toll.main(List.of(contender("java_selector", Selectors::new),
            contender("java_virtual_threads", VirtualThreads::new)), words);
    }
}
