// File descriptors of the latency workloads.
#pragma once

#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <system_error>

namespace toll::latency {

/// A file descriptor that is closed in the end.
class Descriptor {
public:
    /// Takes what the system call named `call` returned; throws std::system_error for -1.
    Descriptor(int number, const char* call) : number_(number) {
        if (number < 0) { throw std::system_error(errno, std::generic_category(), call); }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { ::close(number_); }

    /// Writes one T; throws std::system_error where that fails. A signal's handler may interrupt it.
    template <class T>
    void send(const T& message) const {
        check([&] { return ::write(number_, &message, sizeof message); }, "write");
    }
    /// Reads one T, or what is there of it; throws std::system_error where nothing comes.
    template <class T>
    void receive(T& message) const {
        check([&] { return ::read(number_, &message, sizeof message); }, "read");
    }
    [[nodiscard]] int get() const noexcept { return number_; }

private:
    template <class Call>
    static void check(Call call, const char* name) {
        for (;;) {
            const auto bytes = call();
            if (bytes > 0) { return; }
            const int error = bytes < 0 ? errno : EPIPE;  // 0: the other end is closed
            if (error != EINTR) { throw std::system_error(error, std::generic_category(), name); }
        }
    }

    int number_;
};

}  // namespace toll::latency
