#pragma once

#include <toll/contender.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace toll::latency {

/// Tells from another thread, or process, whether a thread sleeps in the kernel: /proc/PID/task/TID/syscall
/// names the system call that a blocked thread is in, once it has left its CPU, and says "running" of any
/// other (proc_pid_syscall(5)). Where a kernel has no such file, the state in `stat` must do
/// (proc_pid_stat(5), field 3), which turns to S a moment before the thread leaves its CPU. One look takes
/// about 1 us.
class Sleeper {
public:
    Sleeper() = default;
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    ~Sleeper() {
        if (file_ >= 0) { ::close(file_); }
        if (switches_ >= 0) { ::close(switches_); }
    }

    /// Called once by the thread that will sleep, before it sleeps.
    void watch_this_thread() { watch("/proc/self/task/" + std::to_string(::syscall(SYS_gettid))); }

    /// Likewise for a thread of any process, called by who will look. Of another process the kernel shows the
    /// system call to those alone who may trace it (ptrace(2)), the state to everybody.
    void watch_thread(pid_t process, pid_t thread) {
        const std::string folder = "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread);
        elsewhere_ = true;
        switches_ = ::open((folder + "/status").c_str(), O_RDONLY | O_CLOEXEC);
        watch(folder);
    }

    /// Returns once the watched thread sleeps, or as soon as `gave_up()` is true; `relax()` is called between
    /// looks. Throws Unsupported where the thread's state cannot be read, std::runtime_error where it does
    /// not sleep within 2 s.
    template <class GaveUp, class Relax>
    void await_asleep(GaveUp gave_up, Relax relax) const {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        while (!asleep() && !gave_up()) {
            if (std::chrono::steady_clock::now() > deadline) {
                throw std::runtime_error(
                    "the waiting thread did not go to sleep within 2 s; is the contender one that never "
                    "sleeps?");
            }
            relax();
        }
    }

    /// As await_asleep(), but the thread has to be seen asleep twice without having run between: what sends
    /// may wake a thread that finds nothing for it and sleeps again. For who called watch_thread().
    template <class Relax>
    void await_settled(Relax relax) const {
        for (;;) {
            await_asleep([] { return false; }, relax);
            const std::uint64_t before = switches();
            if (asleep() && switches() == before) { return; }
        }
    }

    /// How it is seen, for a Footing.
    [[nodiscard]] const char* seen_by() const noexcept { return seen_by(names_call_, elsewhere_); }
    static const char* seen_by(bool names_call, bool elsewhere) noexcept {
        if (elsewhere) { return names_call ? "/proc/PID/task/TID/syscall" : "/proc/PID/task/TID/stat"; }
        return names_call ? "/proc/self/task/TID/syscall" : "/proc/self/task/TID/stat";
    }
    /// Whether the kernel shows the system call that the watched thread is in.
    [[nodiscard]] bool names_call() const noexcept { return names_call_; }

private:
    /// `folder` is that of a thread.
    void watch(const std::string& folder) {
        int file = ::open((folder + "/syscall").c_str(), O_RDONLY | O_CLOEXEC);
        char probe = 0;
        names_call_ = file >= 0 && ::pread(file, &probe, 1, 0) == 1;
        if (!names_call_) {
            if (file >= 0) { ::close(file); }
            file = ::open((folder + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
        }
        file_.store(file, std::memory_order_release);
    }

    /// How often the watched thread has given up its CPU or lost it (proc_pid_status(5)). Throws Unsupported
    /// where the kernel does not tell: who may have run between two looks was not seen asleep.
    [[nodiscard]] std::uint64_t switches() const {
        char text[64 * 1024];  // who is in hundreds of groups has a long line before these
        const auto length = ::pread(switches_, text, sizeof text, 0);
        std::uint64_t sum = 0;
        std::string_view rest(text, length > 0 ? static_cast<std::size_t>(length) : 0);
        constexpr std::string_view name = "voluntary_ctxt_switches:\t";  // also the end of nonvoluntary_...
        if (rest.find(name) == std::string_view::npos) {
            throw Unsupported(
                "the kernel does not tell how often a thread has run (/proc/self/task/.../status)");
        }
        for (auto at = rest.find(name); at != std::string_view::npos; at = rest.find(name)) {
            rest.remove_prefix(at + name.size());
            std::uint64_t count = 0;
            std::from_chars(rest.data(), rest.data() + rest.size(), count);
            sum += count;
        }
        return sum;
    }

    [[nodiscard]] bool asleep() const {
        char text[256];
        const auto length = ::pread(file_.load(std::memory_order_acquire), text, sizeof text, 0);
        if (length <= 0) {
            throw Unsupported(
                "cannot read a thread's state under /proc/self/task, by which it is seen asleep");
        }
        const std::string_view seen(text, static_cast<std::size_t>(length));
        // "-1" is a thread that sleeps outside system calls, as for a page.
        if (names_call_) { return seen.front() >= '0' && seen.front() <= '9'; }
        // The command's name in parentheses may itself hold any character: the state follows the last ')'.
        const auto name_end = seen.rfind(')');
        return name_end != std::string_view::npos && name_end + 2 < seen.size() && seen[name_end + 2] == 'S';
    }

    std::atomic<int> file_{-1};
    bool names_call_ = false;  ///< written before `file_`
    bool elsewhere_ = false;   ///< likewise
    int switches_ = -1;        ///< likewise
};

}  // namespace toll::latency
