#pragma once

// What inspect_loops.py found in the machine code of this program's measured loops, read back by the program.

#include <toll/workload.hpp>

#include <link.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>

namespace toll::arrays {

/// Where the dynamic loader put this program: 0 for one that is not position independent.
[[nodiscard]] inline std::uintptr_t load_address() noexcept {
    std::uintptr_t address = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            *static_cast<std::uintptr_t*>(result) = info->dlpi_addr;
            return 1;  // the first one is the program itself
        },
        &address);
    return address;
}

/// How wide the SIMD additions of `function` are ("16 bytes"), "no" where it has none, "unknown" where the
/// build could not look. `loops` holds a line for each measured loop: its address in the file, hexadecimal,
/// and what was found.
[[nodiscard]] inline std::string vectorized(const void* function, std::istream& loops) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(function) - load_address();
    std::uintptr_t address = 0;
    std::string found;
    while (loops >> std::hex >> address && std::getline(loops >> std::ws, found)) {
        if (address == wanted) { return found; }
    }
    return "unknown";
}

/// What vectorized() found, as the column of a report: bytes that one addition adds at once, 0 where it adds
/// one element. Empty where nobody knows, or where the machine decides (SVE).
[[nodiscard]] inline Details simd_width(const std::string& found) {
    if (found == "no") { return {{"simd_bytes", 0.0}}; }
    int bytes = 0;
    const auto read = std::from_chars(found.data(), found.data() + found.size(), bytes);
    return read.ec == std::errc{} ? Details{{"simd_bytes", static_cast<double>(bytes)}} : Details{};
}

/// As vectorized() above, from the file that the build left beside this program.
[[nodiscard]] inline std::string vectorized(const void* function) {
    std::string program(4096, '\0');
    const auto length = readlink("/proc/self/exe", program.data(), program.size());
    program.resize(length < 0 ? 0 : static_cast<std::size_t>(length));
    std::ifstream loops(program + ".loops");
    return vectorized(function, loops);
}

}  // namespace toll::arrays
