// Nobody waits for ever: what sees that a peer has died or hangs, and ends the program with a sentence.
#pragma once

#include "shared_memory.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace toll::ipc {

/// What the watch looks at; in memory that both sides share.
struct Watched {
    alignas(line_bytes) std::atomic<std::uint64_t> progress{0};  ///< grows with each message
    alignas(line_bytes) std::atomic<bool> busy{false};           ///< progress is expected
    std::atomic<bool> may_end{false};                            ///< the other process ends on purpose
};

/// How a process ended, by its wait status as waitid(2) tells it.
inline std::string how_it_ended(const siginfo_t& end) {
    return end.si_code == CLD_EXITED ? "exit code " + std::to_string(end.si_status)
                                     : "signal " + std::to_string(end.si_status);
}

/// A thread that looks five times a second. It cannot throw into a thread that sleeps in the kernel or polls
/// memory: it says why, kills the other process, and ends this one with exit code 1. Looks are counted, not
/// seconds: a program that toll halts does not look.
class Watch {
public:
    /// `child` is the other process, 0 where there is none. `most_looks` without progress are too many.
    /// `clean_up` is called before this process is ended.
    Watch(const Watched& watched, pid_t child, unsigned most_looks, std::function<void()> clean_up)
        : watched_(watched),
          child_(child),
          most_looks_(most_looks),
          clean_up_(std::move(clean_up)),
          stop_(::eventfd(0, EFD_CLOEXEC)) {
        if (stop_ < 0) { throw std::system_error(errno, std::generic_category(), "eventfd"); }
        thread_ = std::thread([this] { look(); });
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch() {
        const std::uint64_t one = 1;
        while (::write(stop_, &one, sizeof one) < 0 && errno == EINTR) {}
        thread_.join();
        ::close(stop_);
    }

private:
    static constexpr int look_every_ms = 200;

    void look() const {
        std::uint64_t before = 0;
        unsigned without_progress = 0;
        for (;;) {
            pollfd stop{stop_, POLLIN, 0};
            if (::poll(&stop, 1, look_every_ms) > 0) { return; }
            check_child();
            const std::uint64_t now = watched_.progress.load(std::memory_order_relaxed);
            const bool still = watched_.busy.load(std::memory_order_relaxed) && now == before;
            without_progress = still ? without_progress + 1 : 0;
            before = now;
            if (without_progress >= most_looks_) {
                give_up("no message came through for " + std::to_string(most_looks_ * look_every_ms / 1000) +
                        " s: one of the two sides hangs");
            }
        }
    }

    void check_child() const {
        siginfo_t end{};
        if (child_ == 0 ||
            ::waitid(P_PID, static_cast<id_t>(child_), &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            end.si_pid == 0 || watched_.may_end.load(std::memory_order_acquire)) {
            return;
        }
        give_up("the other process ended (" + how_it_ended(end) + ") before its work was done");
    }

    [[noreturn]] void give_up(const std::string& why) const {
        std::fprintf(stderr, "%s\n", why.c_str());
        if (child_ != 0) { ::kill(child_, SIGKILL); }
        clean_up_();
        ::_exit(1);
    }

    const Watched& watched_;
    pid_t child_;
    unsigned most_looks_;
    std::function<void()> clean_up_;
    int stop_;
    std::thread thread_;
};

}  // namespace toll::ipc
