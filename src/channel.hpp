// Lines in, lines and raw bytes out, on file descriptors.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace toll {

/// The other side is gone: nobody is left to answer.
struct Disconnected : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Channel {
public:
    static constexpr std::size_t longest_line = std::size_t{1} << 20;

    /// Does not own the descriptors.
    Channel(int in, int out) noexcept : in_(in), out_(out) {}

    /// The next line without its end, or nothing at the end of the input. An unfinished last line
    /// is no line. Throws UsageError beyond longest_line, Disconnected where the input cannot be read.
    [[nodiscard]] std::optional<std::string> read_line();

    /// Throws Disconnected where the reader is gone.
    void write(std::string_view bytes) const;

private:
    int in_;
    int out_;
    std::string pending_;
    std::size_t searched_ = 0;
};

}  // namespace toll
