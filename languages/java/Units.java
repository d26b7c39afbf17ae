import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** Counts concurrency units in a pass that nobody times. */
final class Units {
    private final AtomicLong created = new AtomicLong();
    private final AtomicLong alive = new AtomicLong();
    private final AtomicLong peak = new AtomicLong();

    /** Whether the runner asks for a counting pass before {@code ready}. */
    static boolean wanted() {
        return System.getenv("TOLL_UNITS") != null;
    }

    /** Told before a unit starts. */
    void made() {
        created.incrementAndGet();
        peak.accumulateAndGet(alive.incrementAndGet(), Math::max);
    }

    /** Told when it has done its work. */
    void ended() {
        alive.decrementAndGet();
    }

    /** Puts what was counted into a footing. */
    void tell(Map<String, Object> footing) {
        footing.put("units_created", created.get());
        footing.put("units_alive_peak", peak.get());
    }
}
