#pragma once

#include <toll/errors.hpp>

#include <unistd.h>
#include <cstdint>
#include <string>
#include <string_view>

namespace toll {

/// Throws Unsupported where `units` of `bytes` each would take half of the machine's memory. `what` begins
/// the sentence behind their number: "fibers, whose stacks ...".
inline void require_memory(std::uint64_t units, std::uint64_t bytes, std::string_view what) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t most = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) / 2 * page;
    if (units <= most / bytes) { return; }
    constexpr std::uint64_t mib = std::uint64_t{1} << 20;
    throw Unsupported(std::to_string(units) + " " + std::string(what) + ", may take " +
                      std::to_string(units / mib * bytes) +
                      " MiB, more than half of this machine's memory; ask for a smaller n");
}

}  // namespace toll
