#include "folly.hpp"

#include <folly/futures/Future.h>

#include <vector>

/// A chain of futures for each task; after its wait it returns to the strand by itself.
struct FollyFutures : toll::cachecalc::FollyStrand {
    using FollyStrand::FollyStrand;

    void run(toll::cachecalc::Load& load) const {
        std::vector<folly::Future<folly::Unit>> tasks;
        tasks.reserve(load.tasks());
        for (std::uint64_t task = 0; task < load.tasks(); ++task) { tasks.push_back(start(load, task)); }
        folly::collectAll(tasks).wait();
    }
    [[nodiscard]] folly::Future<folly::Unit> start(toll::cachecalc::Load& load, std::uint64_t task) const {
        return folly::via(strand(),
                          [&load, task] {
                              load.compute();
                              load.wait_begins(task);
                              return folly::futures::sleep(load.wait());
                          })
            .thenValue([&load, task](folly::Unit) {
                load.wait_ended(task);
                load.compute();
            });
    }
    static toll::Footing footing() { return {{"waits", toll::cachecalc::folly_waits}}; }
};

TOLL_CONTENDER(cachecalc, folly_futures, FollyFutures);
