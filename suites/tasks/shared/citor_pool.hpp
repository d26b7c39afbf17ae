#pragma once

#include <toll/errors.hpp>

#include <citor/hints.h>
#include <citor/thread_pool.h>

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <string>
#include <thread>
#include <utility>

namespace toll {

/// As many threads as were asked for, of which the calling one is the first. citor makes no more than there
/// are cores, or CPUs where each of them is asked for, and says nothing: then it throws Unsupported.
class CitorPool {
public:
    /// As citor's own programs have it: each thread on a CPU, and on the second one of a core where there are
    /// as many threads as CPUs.
    explicit CitorPool(unsigned threads)
        : CitorPool(threads, threads == std::thread::hardware_concurrency() ? citor::Affinity::PerCpuSmtPair
                                                                            : citor::Affinity::PerCpu) {}

    /// With Affinity::None the calling thread keeps its CPUs as well: citor ties it all the same.
    CitorPool(unsigned threads, citor::Affinity affinity)
        : callers_cpus_(own_cpus()), pool_(threads, affinity) {
        if (affinity == citor::Affinity::None) {
            ::pthread_setaffinity_np(::pthread_self(), sizeof callers_cpus_, &callers_cpus_);
        }
        if (pool_.participants() != threads) {
            throw Unsupported("citor makes " + std::to_string(pool_.participants()) + " threads where " +
                              std::to_string(threads) +
                              " are asked for: at most one for each core that the process may use");
        }
    }

    /// Makes all of `work`, and returns once that is done.
    template <class... Work>
    void fork_join(Work&&... work) {
        pool_.forkJoin<citor::HintsDefaults>(std::forward<Work>(work)...);
    }

    /// The same with `work(0)` to `work(count - 1)`.
    template <class Work>
    void fork_join_all(std::size_t count, Work&& work) {
        pool_.forkJoinAll<citor::HintsDefaults>(count, std::forward<Work>(work));
    }

private:
    static cpu_set_t own_cpus() noexcept {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        ::pthread_getaffinity_np(::pthread_self(), sizeof cpus, &cpus);
        return cpus;
    }

    cpu_set_t callers_cpus_;
    citor::ThreadPool pool_;
};

}  // namespace toll
