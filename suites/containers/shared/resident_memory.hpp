#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace toll::allocate {

/// The number of bytes behind "Rss:" in the text of /proc/self/smaps_rollup.
[[nodiscard]] inline std::optional<std::int64_t> resident_in(std::string_view smaps_rollup) noexcept {
    constexpr std::string_view title = "\nRss:";
    const auto found = smaps_rollup.find(title);
    if (found == std::string_view::npos) { return std::nullopt; }
    const auto digits = smaps_rollup.find_first_not_of(" \t", found + title.size());
    if (digits == std::string_view::npos) { return std::nullopt; }
    std::int64_t kib = 0;
    const char* const end = smaps_rollup.data() + smaps_rollup.size();
    if (std::from_chars(smaps_rollup.data() + digits, end, kib).ec != std::errc{}) { return std::nullopt; }
    return kib * 1024;
}

/// The process's resident set, counted page by page: the cheaper /proc/self/statm is off by up to 64 pages
/// for each CPU. Allocates nothing. Nothing where the kernel does not tell (before Linux 4.14, or no /proc).
[[nodiscard]] inline std::optional<std::int64_t> resident_bytes() noexcept {
    const int file = ::open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    if (file < 0) { return std::nullopt; }
    std::array<char, 2048> text{};
    const auto length = ::read(file, text.data(), text.size());
    ::close(file);
    return length <= 0 ? std::nullopt : resident_in({text.data(), static_cast<std::size_t>(length)});
}

}  // namespace toll::allocate
