#pragma once

// What the kernel lets one process hold at once, and the sentence that a contender fails with beyond it.

#include "workload.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

namespace toll::skynet {

/// One limit of the kernel: how many units fit under it from now on, and how to raise it.
struct Limit {
    std::string sentence;  ///< "vm.max_map_count = 65530 (two memory maps a unit)"
    std::string
        raise;  ///< the command that raises it so far that every unit of the tree could be alive at once
    std::uint64_t units = std::numeric_limits<std::uint64_t>::max();
};

/// The number in a file of /proc or /sys; `otherwise` where there is none ("max" is none).
inline std::uint64_t number_in(const std::string& file, std::uint64_t otherwise) {
    std::uint64_t number = 0;
    return std::ifstream(file) >> number ? number : otherwise;
}

/// `limit` less what is in use, less a reserve of 3 % and 64 for everybody else.
inline std::uint64_t left_of(std::uint64_t limit, std::uint64_t used) {
    const std::uint64_t reserve = used + limit / 32 + 64;
    return limit > reserve ? limit - reserve : 0;
}

/// A limit that `sysctl` sets, e.g. vm.max_map_count; each unit takes `each` of it.
inline Limit sysctl_limit(const std::string& name, std::uint64_t used, std::uint64_t each,
                          std::string_view what, std::uint64_t all_units) {
    std::string file = "/proc/sys/" + name;
    std::replace(file.begin() + 10, file.end(), '.', '/');
    const std::uint64_t limit = number_in(file, 0);
    if (limit == 0) { return {}; }
    const std::uint64_t wanted = (used + all_units * each) / 16 * 17 + 1024;
    return {name + " = " + std::to_string(limit) + " (" + std::string(what) + ")",
            "sudo sysctl -w " + name + "=" + std::to_string(wanted), left_of(limit, used) / each};
}

/// Memory maps: two for each stack with a guard page, because the guard's protection differs.
inline Limit guarded_stacks_limit(std::uint64_t all_units) {
    std::ifstream maps("/proc/self/maps");
    std::uint64_t used = 0;
    for (std::string line; std::getline(maps, line);) { ++used; }
    return sysctl_limit("vm.max_map_count", used, 2, "two memory maps for a stack and its guard page",
                        all_units);
}

/// More units of `kind` ("threads") than `limit` allows would be alive at once.
inline Unsupported beyond(const Limit& limit, const Inputs& inputs, std::string_view kind) {
    std::uint64_t fits = 1;  // has no units
    while (units_below_root(fits * children) <= limit.units) { fits *= children; }
    return Unsupported("more than " + std::to_string(limit.units) + " " + std::string(kind) +
                       " would be alive at once with tasks=" + std::to_string(inputs.tasks) +
                       ", which exceeds " + limit.sentence + "; tasks=" + std::to_string(fits) +
                       " always fits, or raise it: " + limit.raise);
}

}  // namespace toll::skynet
