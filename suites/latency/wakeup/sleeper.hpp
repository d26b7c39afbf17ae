#pragma once

#include <toll/contender.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

namespace toll::wakeup {

/// Tells from another thread whether a thread sleeps in the kernel, by its state in /proc (proc(5), `stat`,
/// field 3).
class Sleeper {
public:
    Sleeper() = default;
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    ~Sleeper() {
        if (file_ >= 0) { ::close(file_); }
    }

    /// Called once by the thread that will sleep, before it sleeps.
    void watch_this_thread() {
        const auto path = "/proc/self/task/" + std::to_string(::syscall(SYS_gettid)) + "/stat";
        file_.store(::open(path.c_str(), O_RDONLY | O_CLOEXEC), std::memory_order_release);
    }

    /// Returns once the watched thread sleeps, or as soon as `gave_up()` is true.
    /// Throws Unsupported where the thread's state cannot be read, std::runtime_error where it does not sleep
    /// within 2 s.
    template <class GaveUp>
    void await_asleep(GaveUp gave_up) const {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        while (!asleep() && !gave_up()) {
            if (std::chrono::steady_clock::now() > deadline) {
                throw std::runtime_error(
                    "the waiting thread did not go to sleep within 2 s; is the contender one that never "
                    "sleeps?");
            }
        }
    }

private:
    [[nodiscard]] bool asleep() const {
        char text[256];
        const auto length = ::pread(file_.load(std::memory_order_acquire), text, sizeof text, 0);
        if (length <= 0) {
            throw Unsupported("cannot read a thread's state under /proc/self/task; parked mode needs it");
        }
        // The command's name in parentheses may itself hold any character: the state follows the last ')'.
        const std::string_view stat(text, static_cast<std::size_t>(length));
        const auto name_end = stat.rfind(')');
        return name_end != std::string_view::npos && name_end + 2 < stat.size() && stat[name_end + 2] == 'S';
    }

    std::atomic<int> file_{-1};
};

}  // namespace toll::wakeup
