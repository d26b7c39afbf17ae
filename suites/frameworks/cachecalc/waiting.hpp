#pragma once

// How a thread waits that has nothing better to do.

#include "workload.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <mutex>
#include <system_error>
#include <thread>

namespace toll::cachecalc {

/// The thread sleeps in the kernel: its CPU is free, and the timer's slack (50 us by default) is added.
struct Sleep {
    static constexpr const char* how = "thread sleeps in the kernel";
    void operator()(std::chrono::microseconds time) const { std::this_thread::sleep_for(time); }
};

/// Reads /dev/zero until the time has passed: exact, and burns its CPU. The trick of the document's programs,
/// which open a stream for each wait, after its time began. It is asked for 1 KiB at a time and looks at the
/// clock after each; libstdc++'s stream asks the kernel for 8,191 bytes at once, so for every eighth.
struct ReadDevZero {
    static constexpr const char* how = "thread reads /dev/zero: burns its CPU";

    void operator()(std::chrono::microseconds time) const {
        if (time <= std::chrono::microseconds::zero()) { return; }
        const auto end = std::chrono::steady_clock::now() + time;
        std::ifstream zeros("/dev/zero");
        std::array<char, 1024> read;
        while (std::chrono::steady_clock::now() < end) {
            if (!zeros.read(read.data(), read.size())) {
                throw std::system_error(errno, std::generic_category(), "/dev/zero");
            }
        }
    }
};

/// A task that holds its thread while it waits; a mutex serializes the computations.
template <class Wait>
class BlockingTask {
public:
    void operator()(Load& load, std::uint64_t task) {
        compute(load);
        load.wait_begins(task);
        wait_(load.wait());
        load.wait_ended(task);
        compute(load);
    }

    [[nodiscard]] static Footing footing() { return {{"waits", Wait::how}}; }

private:
    void compute(Load& load) {
        const std::scoped_lock lock{mutex_};
        load.compute();
    }

    std::mutex mutex_;
    [[no_unique_address]] Wait wait_;
};

}  // namespace toll::cachecalc
