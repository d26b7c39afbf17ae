#include "../shared/descriptor.hpp"
#include "workload.hpp"

#include <fcntl.h>
#include <array>

/// Reads zeros until the time has passed: never sleeps, but spends its time in the kernel, as I/O does.
struct ReadDevZero {
    toll::latency::Descriptor zeros{open("/dev/zero", O_RDONLY | O_CLOEXEC), "open(/dev/zero)"};
    void sleep(toll::sleep::nanoseconds length) {
        const auto until = std::chrono::steady_clock::now() + length;
        std::array<char, 1024> buffer;
        while (std::chrono::steady_clock::now() < until) { zeros.receive(buffer); }
    }
};

TOLL_CONTENDER(sleep, read_dev_zero, ReadDevZero);
