// One contender of each workload in one program, for processes that may not do everything.
#include "contended_increment/workload.hpp"
#include "contention/workload.hpp"
#include "core_to_core/workload.hpp"
#include "shared/atomic_counters.hpp"
#include "shared/std_locks.hpp"
#include "sleep/workload.hpp"

#include <thread>

namespace {

struct Turn {
    std::atomic<int> turn{0};
    void pass(int side) {
        while (turn.load(std::memory_order_acquire) != side) { toll::cpu_relax(); }
        turn.store(1 - side, std::memory_order_release);
    }
};

struct SleepFor {
    void sleep(toll::sleep::nanoseconds length) { std::this_thread::sleep_for(length); }
};

}  // namespace

TOLL_CONTENDER(core_to_core, turn, Turn);
TOLL_CONTENDER(contention, std_mutex, toll::contention::Locked<toll::locks::StdMutex>);
TOLL_CONTENDER(contended_increment, fetch_add, toll::contention::FetchAdd);
TOLL_CONTENDER(sleep, sleep_for, SleepFor);
