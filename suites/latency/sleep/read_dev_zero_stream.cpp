#include "workload.hpp"

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

/// As the document's program has it: a stream on /dev/zero for each sleep, opened after the time began. It
/// hands out 1 KiB at a time; libstdc++'s asks the kernel for 8,191 bytes at once, so for about every eighth.
struct ReadDevZeroStream {
    static void sleep(toll::sleep::nanoseconds length) {
        const auto until = std::chrono::steady_clock::now() + length;
        std::ifstream zeros("/dev/zero");
        std::array<char, 1024> buffer;
        while (std::chrono::steady_clock::now() < until) {
            if (!zeros.read(buffer.data(), buffer.size())) {
                throw std::system_error(errno, std::generic_category(), "/dev/zero");
            }
        }
    }
};

TOLL_CONTENDER(sleep, read_dev_zero_stream, ReadDevZeroStream);
