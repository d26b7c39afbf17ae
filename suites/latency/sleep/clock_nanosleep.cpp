#include "workload.hpp"

#include <cerrno>
#include <ctime>

/// To an absolute time: a signal in between makes it no longer.
struct ClockNanosleep {
    void sleep(toll::sleep::nanoseconds length) {
        timespec until{};
        clock_gettime(CLOCK_MONOTONIC, &until);
        const auto ns = toll::sleep::nanoseconds{until.tv_nsec} + length;
        const auto whole = std::chrono::duration_cast<std::chrono::seconds>(ns);
        until.tv_sec += whole.count();
        until.tv_nsec = (ns - whole).count();
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {}
    }
};

TOLL_CONTENDER(sleep, clock_nanosleep, ClockNanosleep);
