#include "folly.hpp"

#include <folly/coro/BlockingWait.h>
#include <folly/coro/Collect.h>
#include <folly/coro/Sleep.h>
#include <folly/coro/Task.h>

#include <vector>

/// A coroutine for each task, scheduled on the strand, to which each resumption returns.
struct FollyCoroutines : toll::cachecalc::FollyStrand {
    using FollyStrand::FollyStrand;

    void run(toll::cachecalc::Load& load) const {
        std::vector<folly::coro::TaskWithExecutor<void>> tasks;
        tasks.reserve(load.tasks());
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            tasks.push_back(folly::coro::co_withExecutor(strand(), one(load, task)));
        }
        folly::coro::blockingWait(folly::coro::collectAllRange(std::move(tasks)));
    }
    static folly::coro::Task<void> one(toll::cachecalc::Load& load, std::uint64_t task) {
        load.compute();
        load.wait_begins(task);
        co_await folly::coro::sleep(load.wait());
        load.wait_ended(task);
        load.compute();
    }
    static toll::Footing footing() { return {{"waits", toll::cachecalc::folly_waits}}; }
};

TOLL_CONTENDER(cachecalc, folly_coroutines, FollyCoroutines);
