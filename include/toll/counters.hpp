// Hardware counters of the whole process through perf_event_open(2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toll {

/// One event's running totals, as the kernel gives them.
struct CounterReading {
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;  // how long it was asked for
    std::uint64_t running_ns = 0;  // how long it had a hardware counter; less where events take turns
};

/// The count between two readings, scaled up for the time without a hardware counter: the kernel's
/// own estimate, value * enabled / running. Returns -1 where the event never ran in between, or a reading
/// failed.
[[nodiscard]] double scaled_count(const CounterReading& early, const CounterReading& late) noexcept;

/// Whether the event had a hardware counter between two readings, and that did not move. Said of instructions
/// it means that nothing is counted.
[[nodiscard]] bool stood_still(const CounterReading& early, const CounterReading& late) noexcept;

/// Events opened with `inherit`: they count threads made after them, so open before any set-up.
/// An inherited event costs about a microsecond a thread created; that is why none is open unless
/// somebody asks (TOLL_COUNTERS=1, or names: TOLL_COUNTERS=instructions,cycles).
class Counters {
public:
    Counters() = default;  // none; reason() says that nobody asked
    ~Counters();
    Counters(Counters&&) noexcept;
    Counters& operator=(Counters&&) noexcept;
    Counters(const Counters&) = delete;
    Counters& operator=(const Counters&) = delete;

    /// Opens `names`; those that the machine lacks are left out. Throws UsageError for an unknown name.
    [[nodiscard]] static Counters open(const std::vector<std::string>& names);
    /// As the environment asks.
    [[nodiscard]] static Counters from_environment();
    /// Every name that open() knows.
    [[nodiscard]] static std::vector<std::string> known_names();

    [[nodiscard]] std::vector<CounterReading> read() const;
    [[nodiscard]] std::vector<std::string> names() const;
    /// Why there are no counts; empty where every event was opened.
    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

private:
    struct Event {
        std::string name;
        int descriptor;
    };
    std::vector<Event> events_;
    std::string reason_ = "hardware counters: not asked for (TOLL_COUNTERS=1 asks)";
};

/// Why perf_event_open failed with this errno: a sentence with what to do about it.
[[nodiscard]] std::string counter_failure(int error_number, std::string_view event);

}  // namespace toll
