#pragma once

#include <toll/errors.hpp>

#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace toll {

/// The machine's, or what a container may have of it.
inline std::uint64_t memory_bytes() {
    const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
    const std::uint64_t machine = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    std::uint64_t container = 0;
    std::ifstream("/sys/fs/cgroup/memory.max") >> container;  // 0 where it is "max", or there is none
    return container == 0 ? machine : std::min(machine, container);
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
