#include "workload.hpp"

#include <folly/synchronization/Rcu.h>

#include <atomic>
#include <mutex>
#include <utility>

/// Readers count themselves in a place of their own thread; what was replaced is freed by whoever replaces,
/// once all who may read it have been through.
class FollyRcu {
    struct Node : folly::rcu_obj_base<Node> {
        explicit Node(const toll::read_mostly::Record& made) : record(made) {}
        toll::read_mostly::Record record;
    };

public:
    using Reader = toll::read_mostly::PlainReader<FollyRcu>;

    FollyRcu() = default;
    FollyRcu(const FollyRcu&) = delete;
    FollyRcu& operator=(const FollyRcu&) = delete;
    /// Nobody reads any more.
    ~FollyRcu() {
        folly::rcu_barrier();  // what was replaced is freed
        delete node_.load(std::memory_order_relaxed);
    }

    template <class Look>
    auto read(Look look) const {
        const std::scoped_lock<folly::rcu_domain> reading{folly::rcu_default_domain()};
        return look(std::as_const(node_.load(std::memory_order_acquire)->record));
    }
    void update() { replaced()->retire(); }  // which may free others': not under a lock, says Folly

private:
    Node* replaced() {
        const std::scoped_lock one_writer{writers_};
        Node* const old = node_.load(std::memory_order_relaxed);
        node_.store(new Node(old->record.next()), std::memory_order_release);
        return old;
    }

    std::atomic<Node*> node_{new Node(toll::read_mostly::Record{})};
    alignas(128) std::mutex writers_;  // away from what readers read
};

TOLL_CONTENDER(read_mostly, folly_rcu, FollyRcu);
