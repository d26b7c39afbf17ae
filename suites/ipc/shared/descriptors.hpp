// File descriptors that both sides inherit, and sending all of a message through one.
#pragma once

#include "ipc_channel.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace toll::ipc {

/// A file descriptor that is closed in the end.
class OwnedDescriptor {
public:
    OwnedDescriptor() = default;
    /// Takes what the system call named `call` returned; throws std::system_error for -1.
    OwnedDescriptor(int number, const char* call) : number_(number) {
        if (number < 0) { throw std::system_error(errno, std::generic_category(), call); }
    }
    OwnedDescriptor(OwnedDescriptor&& from) noexcept : number_(std::exchange(from.number_, -1)) {}
    OwnedDescriptor& operator=(OwnedDescriptor&& from) noexcept {
        std::swap(number_, from.number_);
        return *this;
    }
    OwnedDescriptor(const OwnedDescriptor&) = delete;
    OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
    ~OwnedDescriptor() {
        if (number_ >= 0) { ::close(number_); }
    }
    [[nodiscard]] int get() const noexcept { return number_; }
    /// Whoever calls this closes it.
    [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

private:
    int number_ = -1;
};

/// Throws std::system_error where a system call said -1.
inline void check_call(long result, const char* call) {
    if (result < 0) { throw std::system_error(errno, std::generic_category(), call); }
}

inline void set_non_blocking(int descriptor) {
    const int flags = ::fcntl(descriptor, F_GETFL);
    check_call(flags, "fcntl");
    check_call(::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK), "fcntl");
}

/// Repeats `call()` until all of `bytes` went through: it gets what is left, and returns as read(2) does.
/// `again()` is called where the descriptor has nothing, or no room, and does not block.
template <class Byte, class Call, class Again>
void transfer_all(std::span<Byte> bytes, const char* name, Call call, Again again) {
    while (!bytes.empty()) {
        const ssize_t moved = call(bytes.data(), bytes.size());
        if (moved > 0) [[likely]] {
            bytes = bytes.subspan(static_cast<std::size_t>(moved));
        } else if (moved == 0) {
            throw std::runtime_error(std::string(name) + ": the other end is closed");
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            again();
        } else if (errno != EINTR) {
            throw std::system_error(errno, std::generic_category(), name);
        }
    }
}

}  // namespace toll::ipc
