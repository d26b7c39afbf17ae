// One verdict of nanobench's compare(): `nanobench OPERATION SLOWDOWN`, per mille, prints -1 (faster), 0 or 1
// (slower).

#define ANKERL_NANOBENCH_IMPLEMENT
#include <nanobench.h>

#include "slowed.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: nanobench OPERATION SLOWDOWN\n", stderr);
        return 2;
    }
    const std::string_view asked = argv[1];
    const double share = std::strtod(argv[2], nullptr) / 1e3;
    int status = 2;
    peers::for_each_operation([&]<class O>(const char* name, std::uint64_t calls) {
        if (name != asked) { return; }
        status = 0;
        O first;
        O second;
        // 52 rounds, as its documentation advises.
        const auto found = ankerl::nanobench::Bench().output(nullptr).epochs(52).compare(
            "first", [&] { peers::block(first, calls, 0); },  //
            "second", [&] { peers::block(second, calls, share); });
        std::printf("%d\n", !found.isSignificant(1) ? 0 : found[1].relative < 1 ? 1 : -1);
    });
    return status;
}
