#include "toll/counters.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "toll/errors.hpp"
#include "toll/keep.hpp"

namespace toll {
namespace {

struct KnownEvent {
    std::string_view name;
    std::uint32_t type;
    std::uint64_t config;
};

constexpr KnownEvent instructions{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS};
constexpr std::array known_events{
    instructions,
    KnownEvent{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    KnownEvent{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    KnownEvent{"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    KnownEvent{"cache_references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    KnownEvent{"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    // Software events: they exist on every kernel, also where a virtual machine hides the hardware.
    KnownEvent{"task_clock_ns", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    KnownEvent{"cpu_migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
};

const std::vector<std::string>& default_names() {
    static const std::vector<std::string> names{"instructions", "cycles", "branch_misses", "cache_misses"};
    return names;
}

/// Hardware counts user code alone: with the kernel's where that is allowed, one name would stand for two
/// quantities on two machines (kernel.perf_event_paranoid).
int open_event(const KnownEvent& event) noexcept {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = event.type;
    attributes.config = event.config;
    attributes.inherit = 1;
    attributes.exclude_kernel = event.type == PERF_TYPE_HARDWARE ? 1 : 0;
    attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    auto descriptor = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0 && (errno == EACCES || errno == EPERM) && attributes.exclude_kernel == 0) {
        // perf_event_paranoid 2, the default of most kernels, lets a user count its own code alone.
        attributes.exclude_kernel = 1;
        descriptor = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return static_cast<int>(descriptor);
}

CounterReading reading_of(int descriptor) noexcept {
    CounterReading reading;
    static_assert(sizeof reading == 3 * sizeof(std::uint64_t), "the kernel's read_format, in order");
    if (::read(descriptor, &reading, sizeof reading) != sizeof reading) { reading = {}; }
    return reading;
}

/// Whether the machine grants a counter that does not count, as some virtual ones do. False where it grants
/// none.
bool hardware_stands_still() noexcept {
    const int descriptor = open_event(instructions);
    if (descriptor < 0) { return false; }
    const CounterReading early = reading_of(descriptor);
    for (int turn = 0; turn < 10'000; ++turn) { clobber(); }
    const CounterReading late = reading_of(descriptor);
    ::close(descriptor);
    return stood_still(early, late);
}

}  // namespace

bool stood_still(const CounterReading& early, const CounterReading& late) noexcept {
    return late.running_ns > early.running_ns && late.value == early.value;
}

double scaled_count(const CounterReading& early, const CounterReading& late) noexcept {
    // A reading that failed is all zeros.
    if (late.running_ns <= early.running_ns || late.value < early.value) { return -1; }
    const auto running = static_cast<double>(late.running_ns - early.running_ns);
    const auto enabled = static_cast<double>(late.enabled_ns - early.enabled_ns);
    return static_cast<double>(late.value - early.value) * (enabled / running);
}

std::string counter_failure(int error_number, std::string_view event) {
    const std::string subject = "hardware counters (" + std::string(event) + "): ";
    switch (error_number) {
        case EACCES:
        case EPERM: return subject + "permission denied; sysctl kernel.perf_event_paranoid=2 allows them";
        case ENOENT:
        case ENODEV:
        case EOPNOTSUPP: return subject + "this processor, or the virtual machine it is in, offers none";
        case ENOSYS: return subject + "the kernel has no perf_event_open, or a sandbox forbids it";
        case EMFILE:
        case ENFILE: return subject + "too many open files; raise `ulimit -n`";
        default: return subject + "perf_event_open failed: " + std::strerror(error_number);
    }
}

Counters::~Counters() {
    for (const Event& event : events_) { close(event.descriptor); }
}

Counters::Counters(Counters&& other) noexcept
    : events_(std::exchange(other.events_, {})), reason_(std::move(other.reason_)) {}

Counters& Counters::operator=(Counters&& other) noexcept {
    std::swap(events_, other.events_);
    std::swap(reason_, other.reason_);
    return *this;
}

Counters Counters::open(const std::vector<std::string>& names) {
    Counters counters;
    counters.reason_.clear();
    std::optional<bool> still;  // asked where a hardware event is
    for (const std::string& name : names) {
        const auto* const known = std::ranges::find(known_events, name, &KnownEvent::name);
        if (known == known_events.end()) {
            throw UsageError("there is no counter '" + name + "'; TOLL_COUNTERS takes 1 or names such as " +
                             "instructions,cycles,branch_misses,cache_misses");
        }
        if (known->type == PERF_TYPE_HARDWARE) {
            if (!still) { still = hardware_stands_still(); }
            if (*still) {
                counters.reason_ =
                    "hardware counters: this machine grants some that stand still, as some virtual ones do";
                continue;
            }
        }
        const int descriptor = open_event(*known);
        if (descriptor >= 0) {
            counters.events_.push_back({name, descriptor});
        } else if (counters.reason_.empty()) {
            counters.reason_ = counter_failure(errno, name);
        }
    }
    return counters;
}

Counters Counters::from_environment() {
    const char* text = std::getenv("TOLL_COUNTERS");
    const std::string_view wanted = text == nullptr ? "" : text;
    if (wanted.empty() || wanted == "0") { return {}; }
    if (wanted == "1") { return open(default_names()); }
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin <= wanted.size();) {
        const std::size_t end = std::min(wanted.find(',', begin), wanted.size());
        names.emplace_back(wanted.substr(begin, end - begin));
        begin = end + 1;
    }
    return open(names);
}

std::vector<std::string> Counters::known_names() {
    std::vector<std::string> names;
    names.reserve(known_events.size());
    for (const KnownEvent& event : known_events) { names.emplace_back(event.name); }
    return names;
}

std::vector<CounterReading> Counters::read() const {
    std::vector<CounterReading> readings;
    readings.reserve(events_.size());
    for (const Event& event : events_) { readings.push_back(reading_of(event.descriptor)); }
    return readings;
}

std::vector<std::string> Counters::names() const {
    std::vector<std::string> names;
    names.reserve(events_.size());
    for (const Event& event : events_) { names.push_back(event.name); }
    return names;
}

}  // namespace toll
