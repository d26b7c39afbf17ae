import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Lets a Java program take part in toll's runs: it speaks protocol 1 (docs/protocol.md). */
final class Toll {
    private Toll() {}

    /** One input of a workload. A default of "cpus" is the number of usable CPUs. */
    record Parameter(String name, String standard, String unit, String meaning, String only) {
        Parameter(String name, String standard, String unit, String meaning) {
            this(name, standard, unit, meaning, "");
        }

        /** The default, which may be a word, is the only value here, and no argument: the sentence says why. */
        Parameter onlyThat(String why) {
            return new Parameter(name, standard, unit, meaning, why);
        }
    }

    /** One answer to a workload. */
    record Contender(String workload, String name, String library, String libraryVersion, String unit, String per,
                     List<Parameter> parameters, SetUp setUp) {
        /** Of the JDK's own library. */
        Contender(String workload, String name, String library, String unit, String per,
                  List<Parameter> parameters, SetUp setUp) {
            this(workload, name, library, Runtime.version().toString(), unit, per, parameters, setUp);
        }
    }

    /** Makes a contender ready to run; not timed. */
    interface SetUp {
        State with(Map<String, Long> arguments) throws Exception;
    }

    /** A contender that is ready to run. All numbers are unsigned 64-bit. */
    interface State {
        /** One timed iteration; returns its answer. */
        long run() throws Exception;
        /** The right answer of one iteration. */
        long expected();
        /** What {@code per} counts, for each iteration. */
        long units();
        /** What it stands on, as observed. */
        Map<String, Object> footing() throws Exception;
        /** More numbers about the batch just run, as suite.toml declares them. */
        default Map<String, Object> details() {
            return Map.of();
        }
    }

    /** An answer of protocol 1 instead of a result. */
    @SuppressWarnings("serial")
    static final class Failure extends Exception {
        final String kind;

        Failure(String kind, String message) {
            super(message);
            this.kind = kind;
        }
    }

    /** How long the runner may go on warming a launch: the second compiler is done within this. */
    private static final long WARMUP_LIMIT_NS = 3_000_000_000L;
    private static final long MOST_ITERATIONS = 1L << 53;
    private static final PrintStream ANSWERS =
        new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

    /** Runs one command line and does not return. */
    static void main(List<Contender> contenders, String[] words) {
        main("Java", contenders, words);
    }

    /** The same, for a program in another language that calls this one. */
    static void main(String language, List<Contender> contenders, String[] words) {
        String verb = words.length > 0 ? words[0] : "";
        int code = 0;
        try {
            switch (verb) {
                case "describe" -> write(description(language, contenders));
                case "serve" -> serve(contenders, Arrays.asList(words).subList(1, words.length));
                default -> show(contenders, Arrays.asList(words));
            }
        } catch (Throwable error) {
            String kind = error instanceof Failure failure ? failure.kind
                : error instanceof OutOfMemoryError ? "resource" : "internal";
            String message = error instanceof Failure ? error.getMessage() : error.toString();
            code = verb.equals("serve") ? 1 : 2;
            if (verb.equals("serve")) {
                write(object("type", "error", "kind", kind, "message", message));
            } else {
                System.err.println(message);
            }
        }
        System.exit(code);
    }

    private static Map<String, Object> description(String language, List<Contender> contenders) {
        String runtime = System.getProperty("java.vm.name") + " " + Runtime.version();
        List<Object> offered = contenders.stream().<Object>map(c -> object(
            "workload", c.workload, "contender", c.name, "library", c.library,
            "library_version", c.libraryVersion, "kind", "batch", "unit", c.unit, "per", c.per,
            "parameters", c.parameters.stream().<Object>map(p -> object(
                "name", p.name, "default", p.standard, "unit", p.unit, "meaning", p.meaning)).toList())).toList();
        return object("type", "description", "protocol", 1, "language", language, "compiler", runtime,
            "contenders", offered);
    }

    private static void serve(List<Contender> contenders, List<String> words) throws Exception {
        if (words.size() < 2) {
            throw new Failure("usage", "serve needs WORKLOAD CONTENDER, then name=value ...");
        }
        long processNs = Resources.now().cpuNs;
        long started = System.nanoTime();
        State state = setUp(contenders, words.get(0), words.get(1), words.subList(2, words.size()));
        write(object("type", "ready", "protocol", 1, "setup_ns", System.nanoTime() - started,
            "process_ns", processNs, "clock", clock(), "footing", state.footing(),
            "warmup_limit_ns", WARMUP_LIMIT_NS));
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            Map<String, Object> reply = answer(state, line);
            write(reply);
            if (reply.get("type").equals("stopped")) {
                return;
            }
        }
    }

    private static Map<String, Object> answer(State state, String line) throws Exception {
        Map<?, ?> request = request(line);
        Object type = request.get("type");
        if ("batch".equals(type)) {
            if (!(request.get("iterations") instanceof Long count) || count < 1 || count > MOST_ITERATIONS) {
                throw new Failure("usage", "batch needs iterations between 1 and 2^53");
            }
            return batch(state, count);
        }
        if ("allocations".equals(type)) {
            throw new Failure("unsupported", "Java allocates without malloc: nothing to count");
        }
        if ("samples".equals(type)) {
            throw new Failure("usage", "this contender is timed in batches: ask for batch");
        }
        if ("stop".equals(type)) {
            return object("type", "stopped");
        }
        throw new Failure("usage", "unknown request type " + type);
    }

    private static Map<?, ?> request(String line) throws Failure {
        try {
            if (new Json(line).whole() instanceof Map<?, ?> request) {
                return request;
            }
        } catch (IllegalArgumentException error) {
            throw new Failure("usage", "a request that is not one of protocol 1: " + error.getMessage());
        }
        throw new Failure("usage", "a request that is not one of protocol 1: not an object");
    }

    private static Map<String, Object> batch(State state, long iterations) throws Exception {
        long sum = 0;
        Resources before = Resources.now();
        long started = System.nanoTime();
        for (long i = 0; i < iterations; i++) {
            sum += state.run();
        }
        long wallNs = System.nanoTime() - started;
        Resources after = Resources.now();
        long expected = iterations * state.expected();
        if (sum != expected) {
            throw new Failure("wrong_answer", "the sum is " + Long.toUnsignedString(sum) + " instead of "
                + Long.toUnsignedString(expected));
        }
        Map<String, Object> answer = object("type", "batch", "iterations", iterations, "units", iterations * state.units(),
            "wall_ns", wallNs, "cpu_ns", after.cpuNs - before.cpuNs,
            "voluntary_switches", after.voluntary - before.voluntary,
            "involuntary_switches", after.involuntary - before.involuntary,
            "minor_faults", after.minorFaults - before.minorFaults,
            "major_faults", after.majorFaults - before.majorFaults,
            "peak_bytes", Resources.peakBytes(), "checksum", Long.toUnsignedString(sum),
            "counters", object("reason", "Java programs count no hardware events"));
        Map<String, Object> details = state.details();
        if (!details.isEmpty()) {
            answer.put("details", details);
        }
        return answer;
    }

    private static State setUp(List<Contender> contenders, String workload, String name, List<String> words)
            throws Exception {
        for (Contender c : contenders) {
            if (c.workload.equals(workload) && c.name.equals(name)) {
                return c.setUp.with(parse(c.parameters, words));
            }
        }
        throw new Failure("usage", "no contender " + workload + " " + name + " in this program");
    }

    private static Map<String, Long> parse(List<Parameter> parameters, List<String> words) throws Failure {
        Map<String, String> texts = new LinkedHashMap<>();
        parameters.forEach(p -> texts.put(p.name, p.standard));
        for (String word : words) {
            String[] halves = word.split("=", 2);
            if (halves.length != 2 || !texts.containsKey(halves[0])) {
                throw new Failure("usage", word + " is not name=value with a parameter of this contender");
            }
            texts.put(halves[0], halves[1]);
        }
        for (Parameter p : parameters) {
            String text = texts.get(p.name);
            if (!p.only.isEmpty() && !text.equals(p.standard)) {
                throw new Failure("unsupported",
                    p.name + "=" + text + ": " + p.only + "; ask for " + p.name + "=" + p.standard);
            }
        }
        parameters.stream().filter(p -> !p.only.isEmpty()).forEach(p -> texts.remove(p.name));
        Map<String, Long> arguments = new LinkedHashMap<>();
        for (Map.Entry<String, String> text : texts.entrySet()) {
            boolean cpus = text.getValue().equals("cpus");
            try {
                arguments.put(text.getKey(), cpus ? Runtime.getRuntime().availableProcessors()
                    : Long.parseUnsignedLong(text.getValue()));
            } catch (NumberFormatException error) {
                throw new Failure("usage", text.getKey() + "=" + text.getValue() + " is not a whole number");
            }
        }
        return arguments;
    }

    /** The clock as it is found: the median of what two reads in a row are apart, and the smallest step seen. */
    private static Map<String, Object> clock() {
        long[] apart = new long[1001];
        for (int i = 0; i < apart.length; i++) {
            long first = System.nanoTime();
            apart[i] = System.nanoTime() - first;
        }
        Arrays.sort(apart);
        long step = Arrays.stream(apart).filter(ns -> ns > 0).findFirst().orElse(1);
        return object("source", "monotonic (Java's System.nanoTime)", "resolution_ns", step,
            "overhead_ns", apart[apart.length / 2], "frequency_hz", 1_000_000_000L);
    }

    /** By hand: every contender, or the one named, as a readable table. */
    private static void show(List<Contender> contenders, List<String> words) throws Exception {
        String first = words.isEmpty() ? "" : words.get(0);
        if (List.of("--help", "-h", "help").contains(first)) {
            System.out.println(
                "PROGRAM [CONTENDER] [name=value ...] | describe | serve WORKLOAD CONTENDER [name=value ...]");
            return;
        }
        String name = first.contains("=") ? "" : first;
        List<Contender> chosen = contenders.stream().filter(c -> name.isEmpty() || c.name.equals(name)).toList();
        if (chosen.isEmpty()) {
            throw new Failure("usage", "no contender " + name + " in this program");
        }
        for (Contender c : chosen) {
            State state = setUp(contenders, c.workload, c.name, words.subList(name.isEmpty() ? 0 : 1, words.size()));
            for (int i = 0; i < 20; i++) {
                Map<String, Object> result = batch(state, 1);
                System.out.printf("%-24s batch %2d %10.1f %s/%s  CPU time %10.1f  %s%n", c.name, i + 1,
                    (long) result.get("wall_ns") / (double) state.units(), c.unit, c.per,
                    (long) result.get("cpu_ns") / (double) state.units(), state.footing());
            }
        }
    }

    private static void write(Map<String, Object> message) {
        ANSWERS.println(Json.text(message));
        if (ANSWERS.checkError()) { // nobody reads: there is no one to answer
            Runtime.getRuntime().halt(1);
        }
    }

    static Map<String, Object> object(Object... namesAndValues) {
        Map<String, Object> made = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            made.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return made;
    }

    /** What all threads of the process have used so far: getrusage, which Java itself does not offer. */
    record Resources(long cpuNs, long voluntary, long involuntary, long minorFaults, long majorFaults) {
        private static final int RUSAGE_SELF = 0;
        private static final int WORDS = 18; // struct rusage of 64-bit Linux: two timevals and 14 longs
        private static final MemorySegment USED = Arena.global().allocate(WORDS * 8L, 8);
        private static final MethodHandle GETRUSAGE = Linker.nativeLinker().downcallHandle(
            Linker.nativeLinker().defaultLookup().find("getrusage").orElseThrow(),
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));

        static Resources now() {
            try {
                int failed = (int) GETRUSAGE.invokeExact(RUSAGE_SELF, USED);
                assert failed == 0;
            } catch (Throwable error) {
                throw new AssertionError(error);
            }
            long cpuNs = 1_000_000_000L * (word(0) + word(2)) + 1_000L * (word(1) + word(3));
            return new Resources(cpuNs, word(16), word(17), word(8), word(9));
        }

        /** The highest resident set so far. Not ru_maxrss, which survives exec: it shows whoever launched us. */
        static long peakBytes() throws IOException {
            try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
                return lines.filter(line -> line.startsWith("VmHWM:")).findFirst()
                    .map(line -> 1024 * Long.parseLong(line.replaceAll("\\D", ""))).orElse(0L);
            }
        }

        private static long word(int index) {
            return USED.getAtIndex(JAVA_LONG, index);
        }
    }
}
