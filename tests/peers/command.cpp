// One operation as a command line: `command OPERATION BLOCKS SLOWDOWN`, the slow-down in per mille. With
// BLOCKS 0 it prints how many blocks take 50 ms.

#include "slowed.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

template <class O>
std::uint64_t blocks_of_50_ms(O& operation, std::uint64_t calls) {
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t blocks = 0;
    for (; std::chrono::steady_clock::now() < begin + std::chrono::milliseconds(50); ++blocks) {
        peers::block(operation, calls, 0);
    }
    return blocks;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: command OPERATION BLOCKS SLOWDOWN\n", stderr);
        return 2;
    }
    const std::string_view asked = argv[1];
    const std::uint64_t blocks = std::strtoull(argv[2], nullptr, 10);
    const double share = std::strtod(argv[3], nullptr) / 1e3;
    int status = 2;
    peers::for_each_operation([&]<class O>(const char* name, std::uint64_t calls) {
        if (name != asked) { return; }
        status = 0;
        O operation;
        for (std::uint64_t block = 0; block < blocks; ++block) { peers::block(operation, calls, share); }
        if (blocks == 0) {
            std::printf("%llu\n", static_cast<unsigned long long>(blocks_of_50_ms(operation, calls)));
        }
    });
    return status;
}
