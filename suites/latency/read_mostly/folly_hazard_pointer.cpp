#include "workload.hpp"

#include <folly/synchronization/Hazptr.h>

#include <atomic>
#include <mutex>
#include <utility>

/// A reader names what it reads in a place of its own and looks whether it is still there; what was replaced
/// is freed once nobody names it (M. M. Michael, Hazard Pointers, IEEE TPDS 2004).
class FollyHazardPointer {
    struct Node : folly::hazptr_obj_base<Node> {
        explicit Node(const toll::read_mostly::Record& made) : record(made) {}
        toll::read_mostly::Record record;
    };

public:
    /// Keeps its place as long as it lives, as a thread would that reads all along.
    class Reader {
    public:
        explicit Reader(FollyHazardPointer& shared) : shared_(shared), place_(folly::make_hazard_pointer()) {}

        template <class Look>
        auto read(Look look) {
            const auto seen = look(std::as_const(place_.protect(shared_.node_)->record));
            place_.reset_protection();
            return seen;
        }
        void update() { shared_.update(); }

    private:
        FollyHazardPointer& shared_;
        folly::hazptr_holder<> place_;
    };

    FollyHazardPointer() = default;
    FollyHazardPointer(const FollyHazardPointer&) = delete;
    FollyHazardPointer& operator=(const FollyHazardPointer&) = delete;
    /// Nobody reads any more.
    ~FollyHazardPointer() {
        node_.load(std::memory_order_relaxed)->retire();
        folly::hazptr_cleanup();  // what was replaced is freed
    }

private:
    /// Not under the lock: it may free others', a thousand at a time.
    void update() { replaced()->retire(); }

    Node* replaced() {
        const std::scoped_lock one_writer{writers_};
        Node* const old = node_.load(std::memory_order_relaxed);
        node_.store(new Node(old->record.next()), std::memory_order_release);
        return old;
    }

    std::atomic<Node*> node_{new Node(toll::read_mostly::Record{})};
    alignas(128) std::mutex writers_;  // away from what readers read
};

TOLL_CONTENDER(read_mostly, folly_hazard_pointer, FollyHazardPointer);
