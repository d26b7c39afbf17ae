#include "workload.hpp"

#include <folly/synchronization/Rcu.h>

#include <atomic>
#include <mutex>

/// Readers count themselves in a place of their own thread; what was replaced is freed by whoever replaces,
/// once all who may read it have been through.
class FollyRcu {
public:
    using Reader = toll::read_mostly::PlainReader<FollyRcu>;

    FollyRcu() = default;
    FollyRcu(const FollyRcu&) = delete;
    FollyRcu& operator=(const FollyRcu&) = delete;
    /// Nobody reads any more.
    ~FollyRcu() {
        folly::rcu_barrier();  // what was replaced is freed
        delete record_.load(std::memory_order_relaxed);
    }

    template <class Look>
    auto read(Look look) const {
        const std::scoped_lock<folly::rcu_domain> reading{folly::rcu_default_domain()};
        return look(*record_.load(std::memory_order_acquire));
    }
    void update() { folly::rcu_retire(replaced()); }  // which may free others': not under a lock, says Folly

private:
    const toll::read_mostly::Record* replaced() {
        const std::scoped_lock one_writer{writers_};
        const auto* const old = record_.load(std::memory_order_relaxed);
        record_.store(new toll::read_mostly::Record(old->next()), std::memory_order_release);
        return old;
    }

    std::atomic<const toll::read_mostly::Record*> record_{new toll::read_mostly::Record};
    std::mutex writers_;
};

TOLL_CONTENDER(read_mostly, folly_rcu, FollyRcu);
