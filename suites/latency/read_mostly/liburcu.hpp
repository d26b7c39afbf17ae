// Read-copy-update in user space, by liburcu (M. Desnoyers et al., User-Level Implementations of Read-Copy
// Update, IEEE TPDS 2012).
#pragma once

#include "../shared/seen_by_sanitizer.hpp"
#include "workload.hpp"

#include <urcu/tls-compat.h>

#include <atomic>
#include <mutex>
#include <utility>

// Up to 0.13 its headers declare the reader's place `thread_local` in C++: each access asks then whether it
// has to be made, four times a read, which no program in C does and none with 0.14.
#undef URCU_TLS_STORAGE_CLASS
#define URCU_TLS_STORAGE_CLASS __thread

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

        // In place, as a loop in C has it: GCC took it for too large for its two callers. With the call, and
        // with a count of reads that it does not need, a read of memb's took 1.4 times as long.
        template <class Look>
        [[gnu::always_inline]] auto read(Look look) {
            Flavour::read_lock();
            const auto seen = look(std::as_const(shared_.node_.load(std::memory_order_acquire)->record));
            Flavour::read_unlock();
            if constexpr (says_when_quiescent) {
                if (--until_quiescent_ == 0) {
                    Flavour::quiescent_state();
                    until_quiescent_ = reads_until_quiescent;
                }
            }
            return seen;
        }
        void update() { shared_.update(); }

    private:
        /// Only one flavour heeds it; for the others a count of reads would cost, and say nothing.
        static constexpr bool says_when_quiescent = requires { Flavour::quiescent_state(); };
        static constexpr unsigned reads_until_quiescent = 1024;

        Liburcu& shared_;
        unsigned until_quiescent_ = reads_until_quiescent;
    };

    /// What frees is made here: a thread that a reader made would be tied as the reader is.
    Liburcu() {
        Flavour::make_freeing_thread();
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

    /// Of a flavour that has the kernel fence for its readers: whether liburcu found that it can.
    [[nodiscard]] static Footing footing() {
        if constexpr (requires { Flavour::fenced_by_kernel(); }) {
            return {{"reader_fences", Flavour::fenced_by_kernel()
                                          ? "none: membarrier(2) where a reader is waited for"
                                          : "in each read: liburcu found no membarrier(2) in this kernel"}};
        } else {
            return {};
        }
    }

private:
    /// What was replaced is queued after the lock, as Folly's rows do: any registered thread may, and other
    /// writers need not wait for it.
    void update() {
        Flavour::call(replaced(), [](Head* head) { delete static_cast<Node*>(head); });
    }
    Node* replaced() {
        const std::scoped_lock one_writer{writers_};
        Node* const old = node_.load(std::memory_order_relaxed);
        node_.store(new Node(old->record.next()), std::memory_order_release);
        return old;
    }

    std::atomic<Node*> node_{new Node(Record{})};
    alignas(128) std::mutex writers_;  // away from what readers read
};

}  // namespace toll::read_mostly

/// The functions of liburcu's flavour `name`, whose header was included before.
#define TOLL_LIBURCU_FLAVOUR(name)                       \
    using Head = ::rcu_head;                             \
    static void register_thread() noexcept {             \
        urcu_##name##_register_thread();                 \
    }                                                    \
    static void unregister_thread() noexcept {           \
        urcu_##name##_unregister_thread();               \
    }                                                    \
    static void read_lock() noexcept {                   \
        urcu_##name##_read_lock();                       \
    }                                                    \
    static void read_unlock() noexcept {                 \
        urcu_##name##_read_unlock();                     \
    }                                                    \
    static void barrier() noexcept {                     \
        urcu_##name##_barrier();                         \
    }                                                    \
    static void make_freeing_thread() {                  \
        (void)urcu_##name##_get_default_call_rcu_data(); \
    }                                                    \
    static void call(Head* head, void (*then)(Head*)) {  \
        urcu_##name##_call_rcu(head, then);              \
    }
