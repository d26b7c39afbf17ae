#pragma once

#include "control_groups.hpp"

#include <toll/errors.hpp>

#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace toll {

/// The least limit of a control group, from that of `path` ("/a/b", as /proc/self/cgroup has it) up to the
/// root's under `mounted`; 0 where none has one.
inline std::uint64_t cgroup_limit(const std::string& mounted, const std::string& path) {
    std::uint64_t least = 0;
    each_control_group(mounted, path, [&least](const std::string& group) {
        std::uint64_t limit = 0;
        std::ifstream(group + "/memory.max") >> limit;  // 0 where it is "max", or there is none
        if (limit != 0) { least = least == 0 ? limit : std::min(least, limit); }
    });
    return least;
}

/// The machine's, or what a container, a slice or a job may have of it (version 2 of control groups).
inline std::uint64_t memory_bytes() {
    const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    const std::uint64_t machine = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t limit = cgroup_limit("/sys/fs/cgroup", own_control_group());
    return limit == 0 ? machine : std::min(machine, limit);
}

/// Throws Unsupported where up to `units` of `bytes` each would take half of the memory. `what` begins the
/// sentence behind their number: "fibers, whose stacks ...".
inline void require_memory(std::uint64_t units, std::uint64_t bytes, std::string_view what) {
    if (units <= memory_bytes() / 2 / bytes) { return; }
    constexpr std::uint64_t mib = std::uint64_t{1} << 20;
    throw Unsupported("up to " + std::to_string(units) + " " + std::string(what) + ", take " +
                      std::to_string(units * bytes / mib) +
                      " MiB, more than half of the memory here; ask for a smaller tree");
}

}  // namespace toll
