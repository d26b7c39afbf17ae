// Read-copy-update in user space, by liburcu (M. Desnoyers et al., User-Level Implementations of Read-Copy
// Update, IEEE TPDS 2012).
#pragma once

#include "../shared/seen_by_sanitizer.hpp"
#include "workload.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <mutex>
#include <utility>

namespace toll::read_mostly {

/// Readers say that they read, and write nothing that another thread reads meanwhile; who replaces the record
/// makes a new one, and the old one is freed by a thread of liburcu's once all who may read it have been
/// through. `Flavour` names the functions of one of the library's ways to know when.
template <class Flavour>
class Liburcu {
    using Head = typename Flavour::Head;
    struct Node : Head {
        explicit Node(const Record& made) : Head{}, record(made) {}
        Record record;
    };

public:
    /// Registered as long as it lives.
    class Reader {
    public:
        explicit Reader(Liburcu& shared) : shared_(shared) { Flavour::register_thread(); }
        Reader(const Reader&) = delete;
        Reader& operator=(const Reader&) = delete;
        ~Reader() { Flavour::unregister_thread(); }

        template <class Look>
        auto read(Look look) {
            Flavour::read_lock();
            const auto seen = look(std::as_const(shared_.node_.load(std::memory_order_acquire)->record));
            Flavour::read_unlock();
            if (--until_quiescent_ == 0) {
                Flavour::quiescent_state();
                until_quiescent_ = reads_until_quiescent;
            }
            return seen;
        }
        void update() { shared_.update(); }

    private:
        /// Only one flavour heeds it: for the others nothing is left of this.
        static constexpr unsigned reads_until_quiescent = 1024;

        Liburcu& shared_;
        unsigned until_quiescent_ = reads_until_quiescent;
    };

    Liburcu() {
#if defined(TOLL_THREAD_SANITIZER)
        throw Unsupported("ThreadSanitizer does not see by what liburcu orders a read before a free");
#endif
    }
    Liburcu(const Liburcu&) = delete;
    Liburcu& operator=(const Liburcu&) = delete;
    /// Nobody reads any more.
    ~Liburcu() {
        Flavour::barrier();  // what was replaced is freed
        delete node_.load(std::memory_order_relaxed);
    }

    /// Of a flavour that has the kernel fence for its readers: whether this kernel can.
    [[nodiscard]] static Footing footing() {
        if constexpr (requires { Flavour::fenced_by_kernel; }) {
            const long known = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
            const bool can = known > 0 && (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
            return {
                {"reader_fences", can ? "none: membarrier(2) where a reader is waited for"
                                      : "two each read: this kernel has no private expedited membarrier(2)"}};
        } else {
            return {};
        }
    }

private:
    void update() {
        const std::scoped_lock one_writer{writers_};
        Node* const old = node_.load(std::memory_order_relaxed);
        node_.store(new Node(old->record.next()), std::memory_order_release);
        Flavour::call(old, [](Head* head) { delete static_cast<Node*>(head); });
    }

    std::atomic<Node*> node_{new Node(Record{})};
    std::mutex writers_;
};

}  // namespace toll::read_mostly

/// The functions of liburcu's flavour `name`, whose header was included before.
#define TOLL_LIBURCU_FLAVOUR(name)                      \
    using Head = ::rcu_head;                            \
    static void register_thread() noexcept {            \
        urcu_##name##_register_thread();                \
    }                                                   \
    static void unregister_thread() noexcept {          \
        urcu_##name##_unregister_thread();              \
    }                                                   \
    static void read_lock() noexcept {                  \
        urcu_##name##_read_lock();                      \
    }                                                   \
    static void read_unlock() noexcept {                \
        urcu_##name##_read_unlock();                    \
    }                                                   \
    static void quiescent_state() noexcept {            \
        urcu_##name##_quiescent_state();                \
    }                                                   \
    static void barrier() noexcept {                    \
        urcu_##name##_barrier();                        \
    }                                                   \
    static void call(Head* head, void (*then)(Head*)) { \
        urcu_##name##_call_rcu(head, then);             \
    }
