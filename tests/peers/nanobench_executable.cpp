// An operation as a nanobench executable: `nanobench_executable OPERATION` prints nanobench's table of it.
// PEERS_SLOWDOWN is the slow-down in per mille.

#define ANKERL_NANOBENCH_IMPLEMENT
#include <nanobench.h>

#include "slowed.hpp"

#include <cstdint>
#include <string_view>

int main(int argc, char** argv) {
    const std::string_view asked = argc > 1 ? argv[1] : "";
    const double share = peers::share_of("PEERS_SLOWDOWN");
    int status = 2;
    peers::for_each_operation([&]<class O>(const char* name, std::uint64_t calls) {
        if (name != asked) { return; }
        status = 0;
        O operation;
        ankerl::nanobench::Bench().run(name, [&] { peers::block(operation, calls, share); });
    });
    return status;
}
