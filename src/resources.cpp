#include "toll/resources.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace toll {
namespace {

std::int64_t cpu_ns(Scope scope) noexcept {
    timespec now{};
    clock_gettime(scope == Scope::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void read_usage(Resources& into, Scope scope) noexcept {
    rusage usage{};
    getrusage(scope == Scope::thread ? RUSAGE_THREAD : RUSAGE_SELF, &usage);
    into.voluntary_switches = usage.ru_nvcsw;
    into.involuntary_switches = usage.ru_nivcsw;
    into.minor_faults = usage.ru_minflt;
    into.major_faults = usage.ru_majflt;
}

}  // namespace

Resources Resources::at_start(Scope scope) noexcept {
    Resources now;
    read_usage(now, scope);
    now.cpu_ns = toll::cpu_ns(scope);
    return now;
}

Resources Resources::at_stop(Scope scope) noexcept {
    Resources now;
    now.cpu_ns = toll::cpu_ns(scope);
    read_usage(now, scope);
    return now;
}

std::int64_t cpu_clock_overhead_ns() noexcept {
    static const std::int64_t overhead = [] {
        std::array<std::int64_t, 33> intervals{};
        for (std::int64_t& interval : intervals) {
            const std::int64_t before = cpu_ns(Scope::process);
            interval = cpu_ns(Scope::process) - before;
        }
        std::ranges::nth_element(intervals, intervals.begin() + 16);
        return intervals[16];
    }();
    return overhead;
}

std::int64_t peak_resident_bytes() noexcept {
    const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0) { return 0; }
    std::array<char, std::size_t{64} * 1024> text;  // who is in hundreds of groups has a long line before it
    const ssize_t length = read(file, text.data(), text.size());
    close(file);
    const std::string_view status(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    const auto found = status.find("VmHWM:");
    if (found == std::string_view::npos) { return 0; }
    const auto digits = status.find_first_of("0123456789", found);
    std::int64_t kibibytes = 0;
    if (digits != std::string_view::npos) {
        std::from_chars(status.data() + digits, status.data() + status.size(), kibibytes);
    }
    return kibibytes * 1024;
}

}  // namespace toll
