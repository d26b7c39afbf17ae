#include "../shared/descriptor.hpp"
#include "workload.hpp"

#include <sys/socket.h>
#include <array>

struct SocketPair {
    std::array<int, 2> ends{-1, -1};
    int made = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
    toll::latency::Descriptor read_end{ends[0], "socketpair"};
    toll::latency::Descriptor write_end{ends[1], "socketpair"};
    void raise() { write_end.send(char{1}); }
    void wait() {
        char message = 0;
        read_end.receive(message);
    }
};

TOLL_CONTENDER(wakeup, socketpair, SocketPair);
