#include "made.hpp"

#include "channel/thread_sides.hpp"
#include "channel/workload.hpp"
#include "shared/shares.hpp"

#include <toll/errors.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <queue>

namespace {

/// A channel without a bound, whose consumers ask again and again; it loses one message where it is told so.
template <bool Complete>
struct Queue {
    explicit Queue(const toll::channel::Inputs& inputs) : inputs_(inputs) {
        toll::channel::require_threads(inputs.threads);
    }

    toll::channel::Received run() {
        std::queue<std::uint64_t> queue;
        std::mutex mutex;
        bool closed = false;
        const auto produce = [&](toll::Share share) {
            for (std::uint64_t i = 0; i < share.count; ++i) {
                const std::scoped_lock lock{mutex};
                if (Complete || share.first + i != 5) { queue.push(share.first + i); }
            }
        };
        const auto consume = [&](unsigned) {
            toll::channel::Received received;
            for (;;) {
                const std::scoped_lock lock{mutex};
                if (!queue.empty()) {
                    received.add(queue.front());
                    queue.pop();
                } else if (closed) {
                    return received;
                }
            }
        };
        return toll::channel::by_threads(inputs_, produce, consume, [&](bool all_sent) {
            const std::scoped_lock lock{mutex};
            closed = all_sent;
        });
    }

    toll::channel::Inputs inputs_;
};

template <bool Complete>
using Channel = toll::channel::Workload<Queue<Complete>>;

}  // namespace

TEST_CASE("shares are all numbers, each once, and differ by one at most") {
    for (const std::uint64_t total : {1U, 7U, 8U, 1001U}) {
        for (const std::uint64_t parts : {1U, 2U, 3U, 20U}) {
            std::uint64_t next = 1;
            for (std::uint64_t i = 0; i < parts; ++i) {
                const toll::Share share = toll::share_of(total, parts, i);
                CHECK(share.first == next);
                CHECK(share.count - total / parts <= 1);
                next += share.count;
            }
            CHECK(next == total + 1);
        }
    }
}

TEST_CASE("what producers send comes to consumers, on half of the threads each") {
    auto workload = made<Channel<true>>({"messages=1001", "threads=4"});
    CHECK(workload.run(2) == workload.expected(2));
    CHECK(workload.expected(1) == 501'501);
    CHECK(workload.units_per_iteration() == 1001);
    CHECK(std::get<std::int64_t>(workload.footing().all().at("producers")) == 2);
}

TEST_CASE("a message that does not come is a wrong answer, with the number of those that came") {
    auto workload = made<Channel<false>>({"messages=10", "threads=2"});
    CHECK_THROWS_WITH_AS(workload.run(1), "9 messages came of 10", toll::WrongAnswer);
}

TEST_CASE("sides that are threads cannot share one") {
    CHECK_THROWS_AS(made<Channel<true>>({"threads=1"}), toll::Unsupported);
    CHECK_THROWS_AS(made<Channel<true>>({"threads=3"}), toll::Unsupported);
}
