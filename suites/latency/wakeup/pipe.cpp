#include "../shared/descriptor.hpp"
#include "workload.hpp"

#include <fcntl.h>
#include <array>

struct Pipe {
    std::array<int, 2> ends{-1, -1};
    int made = ::pipe2(ends.data(), O_CLOEXEC);
    toll::latency::Descriptor read_end{ends[0], "pipe"};
    toll::latency::Descriptor write_end{ends[1], "pipe"};
    void raise() { write_end.send(char{1}); }
    void wait() {
        char message = 0;
        read_end.receive(message);
    }
};

TOLL_CONTENDER(wakeup, pipe, Pipe);
