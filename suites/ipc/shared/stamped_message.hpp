// Messages whose contents can be checked at the other end.
#pragma once

#include "ipc_channel.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace toll::ipc {

/// Where a message carries its number: at its begin, every 4,160 bytes and at its end. A look at all of them
/// sees a message that is old, torn, cut or out of order; the bytes between are a pattern of the side that
/// sends, which is compared as a whole outside the timed part. One line more than a page: at a distance of
/// 4,096 bytes all stamps share the few lines of one set of the first cache.
inline constexpr std::size_t stamp_every = 4096 + 64;

/// Calls `each(bytes of one stamp)` until one returns false, and returns whether all returned true.
template <class Byte, class Each>
bool at_stamps(std::span<Byte> message, Each each) {
    constexpr std::size_t whole = sizeof(std::uint64_t);
    if (message.size() < 2 * whole) { return each(message.first(std::min(message.size(), whole))); }
    for (std::size_t offset = 0; offset + 2 * whole <= message.size(); offset += stamp_every) {
        if (!each(message.subspan(offset, whole))) { return false; }
    }
    return each(message.last(whole));
}

/// The number as `side` writes it: a message that comes back to its own sender is not taken for an answer.
[[nodiscard]] constexpr std::uint64_t stamp_of(Side side, std::uint64_t number) noexcept {
    return side == Side::asker ? number : ~number;
}

inline void write_stamps(std::span<std::byte> message, std::uint64_t stamp) noexcept {
    at_stamps(message, [stamp](std::span<std::byte> place) {
        std::memcpy(place.data(), &stamp, place.size());
        return true;
    });
}

[[nodiscard]] inline bool has_stamps(std::span<const std::byte> message, std::uint64_t stamp) noexcept {
    return at_stamps(message, [stamp](std::span<const std::byte> place) {
        std::uint64_t seen = stamp;  // a stamp that is cut short has its low bytes alone
        std::memcpy(&seen, place.data(), place.size());
        return seen == stamp;
    });
}

/// What the messages of `side` hold between the stamps.
[[nodiscard]] inline std::vector<std::byte> pattern_of(Side side, std::size_t bytes) {
    std::vector<std::byte> pattern(bytes);
    std::uint64_t state = side == Side::asker ? 0x9e3779b97f4a7c15U : 0xc2b2ae3d27d4eb4fU;
    for (std::byte& byte : pattern) {
        // xorshift64 (G. Marsaglia, Journal of Statistical Software 8(14), 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        byte = static_cast<std::byte>(state >> 56);
    }
    return pattern;
}

/// The memory of one side: two messages that it sends in turn, and one that it receives into.
class Messages {
public:
    Messages(Side side, std::size_t bytes)
        : side_(side),
          out_{pattern_of(side, bytes), pattern_of(side, bytes)},
          in_(bytes),
          wanted_(pattern_of(other(side), bytes)) {}

    /// Message `number`, ready to be sent.
    [[nodiscard]] std::span<const std::byte> stamped(std::uint64_t number) noexcept {
        std::vector<std::byte>& message = out_[number % 2];
        write_stamps(message, stamp_of(side_, number));
        return message;
    }
    [[nodiscard]] std::span<std::byte> in() noexcept { return in_; }

    /// Whether what was received is message `number` of the other side, by its stamps.
    [[nodiscard]] bool received(std::uint64_t number) const noexcept {
        return has_stamps(in_, stamp_of(other(side_), number));
    }
    /// Whether each byte of it is right.
    [[nodiscard]] bool received_whole(std::uint64_t number) noexcept {
        write_stamps(wanted_, stamp_of(other(side_), number));
        return std::memcmp(wanted_.data(), in_.data(), in_.size()) == 0;
    }

private:
    Side side_;
    std::vector<std::byte> out_[2];
    std::vector<std::byte> in_;
    std::vector<std::byte> wanted_;
};

}  // namespace toll::ipc
