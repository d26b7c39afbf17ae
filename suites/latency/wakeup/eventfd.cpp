#include "../shared/descriptor.hpp"
#include "workload.hpp"

#include <sys/eventfd.h>

struct EventFd {
    toll::latency::Descriptor event{::eventfd(0, EFD_CLOEXEC), "eventfd"};
    void raise() { event.send(std::uint64_t{1}); }
    void wait() {
        std::uint64_t count = 0;
        event.receive(count);
    }
};

TOLL_CONTENDER(wakeup, eventfd, EventFd);
