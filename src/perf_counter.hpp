// One event that the kernel counts for a process and its threads, or for a command and all of its processes.
//
// What is counted is user code alone. A count is true only where the event was counted all the time: where
// several share the hardware, `running_ns` stays behind `enabled_ns`.
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace toll_perf {

struct Count {  // as read(2) gives it
    std::uint64_t value = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
};

enum class Scope {
    threads,
    processes
};  // `processes`: of a child, from the moment when it becomes a program

/// "TYPE:CONFIG" of perf_event_open, in digits.
inline bool understood(const char* text, std::uint32_t* type, std::uint64_t* config) {
    char* behind = nullptr;
    *type = static_cast<std::uint32_t>(std::strtoul(text, &behind, 10));
    if (behind == text || *behind != ':') { return false; }
    const char* number = behind + 1;
    *config = std::strtoull(number, &behind, 10);
    return behind != number && *behind == '\0';
}

/// A descriptor, or a negated errno.
inline int opened(const char* event, pid_t process, Scope scope) {
    perf_event_attr attributes{};
    std::uint32_t type = 0;
    std::uint64_t config = 0;
    if (!understood(event, &type, &config)) { return -EINVAL; }
    attributes.size = sizeof attributes;
    attributes.type = type;
    attributes.config = config;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.inherit = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    if (scope == Scope::processes) {
        attributes.disabled = 1;
        attributes.enable_on_exec = 1;
    }
#ifdef PERF_ATTR_SIZE_VER7  // since Linux 5.13: what the process forks is not its own
    attributes.inherit_thread = scope == Scope::threads;
#endif
    long descriptor = syscall(SYS_perf_event_open, &attributes, process, -1, -1, PERF_FLAG_FD_CLOEXEC);
#ifdef PERF_ATTR_SIZE_VER7
    if (descriptor < 0 && errno == EINVAL && attributes.inherit_thread != 0) {
        attributes.inherit_thread = 0;  // a kernel older than the headers: what is forked is counted too
        descriptor = syscall(SYS_perf_event_open, &attributes, process, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
#endif
    return descriptor < 0 ? -errno : static_cast<int>(descriptor);
}

inline bool read_count(int descriptor, Count* into) {
    return ::read(descriptor, into, sizeof *into) == static_cast<ssize_t>(sizeof *into);
}

/// Of this process and its threads, from one mark to the next.
class Marks {
public:
    /// "Event 0", or an errno: why nothing is counted. Nothing where no event is wanted.
    const char* open_as_asked() {
        const char* event = std::getenv("TOLL_COUNTS_EVENT");
        if (event == nullptr) { return nullptr; }
        descriptor_ = opened(event, 0, Scope::threads);
        std::snprintf(text_, sizeof text_, "Event %d", descriptor_ < 0 ? -descriptor_ : 0);
        return text_;
    }
    /// Begins as late as it can.
    void begin() { begun_ = descriptor_ >= 0 && read_count(descriptor_, &began_); }
    /// Ends as early as it can.
    void end() { ended_ = begun_ && read_count(descriptor_, &at_end_); }
    /// "Executed VALUE ENABLED_NS RUNNING_NS". Nothing where it was not counted.
    const char* told() {
        if (!ended_) { return nullptr; }
        std::snprintf(text_, sizeof text_, "Executed %llu %llu %llu", since(&Count::value),
                      since(&Count::enabled_ns), since(&Count::running_ns));
        return text_;
    }

private:
    unsigned long long since(std::uint64_t Count::* part) const { return at_end_.*part - began_.*part; }

    int descriptor_ = -1;
    bool begun_ = false;
    bool ended_ = false;
    Count began_;
    Count at_end_;
    char text_[100] = "";
};

}  // namespace toll_perf
