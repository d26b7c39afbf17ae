#include "../shared/descriptor.hpp"
#include "workload.hpp"

#include <sys/timerfd.h>

struct Timerfd {
    toll::latency::Descriptor timer{timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd_create"};
    void sleep(toll::sleep::nanoseconds length) {
        if (length.count() == 0) { return; }  // a timer of 0 is switched off
        const auto whole = std::chrono::duration_cast<std::chrono::seconds>(length);
        const itimerspec once{.it_interval = {}, .it_value = {whole.count(), (length - whole).count()}};
        if (timerfd_settime(timer.get(), 0, &once, nullptr) != 0) {
            throw std::system_error(errno, std::generic_category(), "timerfd_settime");
        }
        std::uint64_t expirations = 0;
        timer.receive(expirations);
    }
};

TOLL_CONTENDER(sleep, timerfd, Timerfd);
