#pragma once

#include "workload.hpp"

#include <toll/resources.hpp>

#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

extern char** environ;

namespace toll::thread_start {

/// What parent and child see both: the child cannot be given the parent's objects.
struct SharedPage {
    std::uint64_t wanted = 0;
    std::uint64_t ran = 0;
    Ticks at = 0;
    int cpu = -1;  ///< that the child ran on
    pid_t child = 0;
};

/// The argument that makes this program a child; its second one is the shared page's file descriptor, its
/// third the clock that the parent reads.
inline constexpr const char* child_name = "toll-spawned-child";
inline constexpr const char* monotonic_name = "monotonic";
inline constexpr const char* counter_name = "counter";

/// The clock's raw reading; a Clock of its own would calibrate for a millisecond.
inline Ticks read_ticks(bool monotonic) noexcept {
#if defined(__x86_64__) || defined(__i386__)
    if (!monotonic) {
        unsigned aux = 0;
        return __builtin_ia32_rdtscp(&aux);
    }
#elif defined(__aarch64__)
    if (!monotonic) {
        Ticks ticks = 0;
        asm volatile("dsb ishld\n\tisb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
        return ticks;
    }
#endif
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<Ticks>(now.tv_sec) * 1'000'000'000 + static_cast<Ticks>(now.tv_nsec);
}

#if defined(__GLIBC__)
inline constexpr bool children_know_arguments = true;

/// Runs before main() and before other initialisers; in a child it notes the time, tells it and ends. It
/// reads the parent's clock alone: a processor may lack the other one. glibc passes main's arguments to
/// initialisers.
[[gnu::constructor(101)]] inline void be_a_child(int count, char** arguments, char**) {
    if (count != 3 || std::strcmp(arguments[0], child_name) != 0) { return; }
    const Ticks at = read_ticks(std::strcmp(arguments[2], monotonic_name) == 0);
    int file = -1;
    std::from_chars(arguments[1], arguments[1] + std::strlen(arguments[1]), file);
    void* const page = ::mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) { std::_Exit(1); }
    auto& shared = *static_cast<SharedPage*>(page);
    shared.at = at;
    shared.cpu = ::sched_getcpu();
    shared.ran = shared.wanted;
    shared.child = ::getpid();
    std::_Exit(0);
}
#else
/// Other C libraries, as musl, pass nothing to initialisers, and to look for it elsewhere would take a part
/// of the time.
inline constexpr bool children_know_arguments = false;
#endif

/// A process a sample: this program itself, which ends before its main(). posix_spawn returns once the child
/// has left the parent's memory, that is after its exec; the child runs when its dynamic linker is done.
class SpawnedProcess {
public:
    SpawnedProcess() : file_(::memfd_create("toll", 0)) {  // inherited: no close-on-exec
        if constexpr (!children_know_arguments) {
            throw Unsupported("only with glibc does a started process know before its main() that it is one");
        }
        if (file_ < 0 || ::ftruncate(file_, sizeof(SharedPage)) != 0) { fail("memfd_create"); }
        void* const page = ::mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        if (page == MAP_FAILED) { fail("mmap"); }
        shared_ = new (page) SharedPage;
        *std::to_chars(number_.data(), number_.data() + number_.size() - 1, file_).ptr = '\0';
    }
    SpawnedProcess(const SpawnedProcess&) = delete;
    SpawnedProcess& operator=(const SpawnedProcess&) = delete;
    ~SpawnedProcess() {
        ::munmap(shared_, sizeof(SharedPage));
        ::close(file_);
    }

    void start(Arrival& arrival) {
        arrival_ = &arrival;
        shared_->wanted = arrival.number();
        const bool monotonic = arrival.clock().source() == Clock::Source::monotonic;
        words_[2] = const_cast<char*>(monotonic ? monotonic_name : counter_name);
        if (const int error =
                posix_spawn(&child_, "/proc/self/exe", nullptr, nullptr, words_.data(), environ)) {
            throw std::system_error(error, std::generic_category(), "posix_spawn");
        }
    }

    void finish() {
        int status = 0;
        rusage used{};
        while (::wait4(child_, &status, 0, &used) < 0 && errno == EINTR) {}
        const auto ns = [](const timeval& time) {
            return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1'000;
        };
        used_elsewhere_ = used_elsewhere_ + Resources{ns(used.ru_utime) + ns(used.ru_stime), used.ru_nvcsw,
                                                      used.ru_nivcsw, used.ru_minflt, used.ru_majflt};
        const bool itself = status == 0 && shared_->child == child_ && child_ != ::getpid();
        arrival_->repeat(shared_->at, shared_->ran, itself, shared_->cpu);
    }

    /// By all children so far, from their fork to their end.
    [[nodiscard]] Resources used_elsewhere() const noexcept { return used_elsewhere_; }

private:
    [[noreturn]] static void fail(const char* what) {
        throw std::system_error(errno, std::generic_category(), what);
    }

    int file_;
    SharedPage* shared_ = nullptr;
    std::array<char, 16> number_{};
    std::array<char*, 4> words_{const_cast<char*>(child_name), number_.data()};
    pid_t child_ = 0;
    Arrival* arrival_ = nullptr;
    Resources used_elsewhere_;
};

}  // namespace toll::thread_start
