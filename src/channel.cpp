#include "channel.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "toll/errors.hpp"

namespace toll {

std::optional<std::string> Channel::read_line() {
    for (;;) {
        const std::size_t end = pending_.find('\n', searched_);
        if (end != std::string::npos && end < longest_line) {
            std::string line = pending_.substr(0, end);
            pending_.erase(0, end + 1);
            searched_ = 0;
            return line;
        }
        if (pending_.size() >= longest_line) {
            throw UsageError("a request is longer than " + std::to_string(longest_line) + " bytes");
        }
        searched_ = pending_.size();
        std::array<char, 4096> chunk{};
        const ssize_t length = ::read(in_, chunk.data(), chunk.size());
        if (length > 0) {
            pending_.append(chunk.data(), static_cast<std::size_t>(length));
        } else if (length == 0) {
            return std::nullopt;
        } else if (errno != EINTR) {
            throw Disconnected(std::string("cannot read a request: ") + std::strerror(errno));
        }
    }
}

void Channel::write(std::string_view bytes) const {
    while (!bytes.empty()) {
        const ssize_t written = ::write(out_, bytes.data(), bytes.size());
        if (written >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno != EINTR) {
            throw Disconnected(std::string("cannot answer: ") + std::strerror(errno));
        }
    }
}

}  // namespace toll
