#include "folly.hpp"

#include <toll/errors.hpp>

#include <folly/coro/BlockingWait.h>
#include <folly/coro/Collect.h>
#include <folly/coro/Sleep.h>
#include <folly/coro/Task.h>
#include <folly/executors/GlobalExecutor.h>

#include <cstddef>
#include <string>
#include <vector>

/// The document's form: tasks on Folly's global executor, which step onto a strand of it for each computation
/// and back.
struct FollyCoroutinesHopping {
    explicit FollyCoroutinesHopping(const toll::cachecalc::Inputs& inputs) {
        // What folly::Init does for the global executor and the timers, without its signal handlers and
        // flags.
        folly::SingletonVault::singleton()->registrationComplete();
        pool_ = folly::getGlobalCPUExecutor();
        refuse_other_than_its_own(inputs.threads);
        strand_ = folly::StrandExecutor::create(folly::StrandContext::create(), pool_);
    }

    void run(toll::cachecalc::Load& load) const {
        folly::coro::blockingWait(folly::coro::co_withExecutor(pool_, all(load)));
    }
    [[nodiscard]] folly::coro::Task<void> all(toll::cachecalc::Load& load) const {
        std::vector<folly::coro::Task<void>> tasks;
        tasks.reserve(load.tasks());
        for (std::uint64_t task = 0; task < load.tasks(); ++task) { tasks.push_back(one(load, task)); }
        co_await folly::coro::collectAllRange(std::move(tasks));
    }
    [[nodiscard]] folly::coro::Task<void> one(toll::cachecalc::Load& load, std::uint64_t task) const {
        co_await folly::coro::co_withExecutor(strand_, compute(load));
        load.wait_begins(task);
        co_await folly::coro::sleep(load.wait());
        load.wait_ended(task);
        co_await folly::coro::co_withExecutor(strand_, compute(load));
    }
    static folly::coro::Task<void> compute(toll::cachecalc::Load& load) {
        load.compute();
        co_return;
    }
    static toll::Footing footing() { return {{"waits", toll::cachecalc::folly_waits}}; }

    /// The executor is the process's: it has as many threads as Folly chose.
    void refuse_other_than_its_own(unsigned threads) const {
        auto* const pool = dynamic_cast<folly::CPUThreadPoolExecutor*>(pool_.get());
        if (pool == nullptr) {
            throw toll::Unsupported(
                "Folly's global executor is no CPUThreadPoolExecutor: its threads are unknown");
        }
        if (const std::size_t own = pool->numThreads(); own != threads) {
            throw toll::Unsupported("Folly's global executor has " + std::to_string(own) +
                                    " threads; ask for threads=" + std::to_string(own));
        }
    }

    folly::Executor::KeepAlive<> pool_;
    folly::Executor::KeepAlive<> strand_;  // last: let go of before the pool
};

TOLL_CONTENDER(cachecalc, folly_coroutines_hopping, FollyCoroutinesHopping);
