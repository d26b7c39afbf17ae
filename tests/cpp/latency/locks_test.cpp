#include "shared/lock_concept.hpp"
#include "shared/posix_locks.hpp"
#include "shared/spinlocks.hpp"
#include "shared/std_locks.hpp"
#if defined(TOLL_HAS_ABSL_SYNCHRONIZATION)
#include "shared/absl_locks.hpp"
#endif
#if defined(TOLL_HAS_CONCURRENCY_KIT)
#include "shared/concurrency_kit_locks.hpp"
#endif
#if defined(TOLL_HAS_ONETBB)
#include "shared/tbb_locks.hpp"
#endif

#include <doctest/doctest.h>

#include <toll/relax.hpp>
#include <toll/threads.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace {

using namespace toll::locks;

/// Excludes nobody; what it guards must show that.
struct Nothing {
    void lock() noexcept {}
    void unlock() noexcept {}
};

/// Plain on purpose: thread-sanitizer reports it where a lock does not order its owners.
class PlainCounter {
public:
    void add_one() { ++count_; }
    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    std::uint64_t count_ = 0;
};

/// Loses what others add meanwhile, and is no data race.
class LosingCounter {
public:
    void add_one() {
        const std::uint64_t before = count_.load(std::memory_order_relaxed);
        for (int i = 0; i < 20; ++i) { toll::cpu_relax(); }
        count_.store(before + 1, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_{0};
};

template <Lock L, class Counter>
std::uint64_t counted(unsigned threads, unsigned rounds) {
    alignas(64) L lock;
    alignas(64) Counter counter;
    toll::Crew crew(threads);
    crew.run([&](unsigned) {
        for (unsigned round = 0; round < rounds; ++round) {
            const Held<L> held{lock};
            counter.add_one();
        }
    });
    return counter.count();
}

unsigned usable_threads() {
    return std::clamp(static_cast<unsigned>(toll::usable_cpus().size()), 2U, 4U);
}

struct Row {
    const char* name;
    std::uint64_t (*counted)(unsigned threads, unsigned rounds);
};

#define ROW(type)                           \
    Row {                                   \
        #type, &counted<type, PlainCounter> \
    }

const Row rows[] = {
    ROW(TestAndSet),
    ROW(TestAndTestAndSet),
    ROW(Ticket),
    ROW(Mcs),
    ROW(StdMutex),
    ROW(StdSharedMutex),
    ROW(StdBinarySemaphore),
    ROW(StdCountingSemaphore),
    ROW(StdAtomicFlag),
    ROW(PthreadMutex),
    ROW(PthreadSpinlock),
    ROW(PthreadAdaptiveMutex),
    ROW(PosixSemaphore),
#if defined(TOLL_HAS_ABSL_SYNCHRONIZATION)
    ROW(AbslMutex),
#endif
#if defined(TOLL_HAS_CONCURRENCY_KIT)
    ROW(ConcurrencyKitFas),
    ROW(ConcurrencyKitTicket),
    ROW(ConcurrencyKitRwlock),
#endif
#if defined(TOLL_HAS_ONETBB)
    ROW(TbbMutex),
    ROW(TbbSpinMutex),
    ROW(TbbQueuingMutex),
#endif
};

/// How many of the readers saw the two numbers differ that a writer makes equal.
template <class L>
std::uint64_t seen_apart(unsigned rounds) {
    alignas(64) L lock;
    alignas(64) std::array<std::uint64_t, 2> numbers{};
    std::atomic<std::uint64_t> apart{0};
    toll::Crew crew(3);
    crew.run([&](unsigned member) {
        for (unsigned round = 0; round < rounds; ++round) {
            if (member == 0) {
                const std::scoped_lock held{lock};
                ++numbers[0];
                ++numbers[1];
            } else {
                const std::shared_lock held{lock};
                if (numbers[0] != numbers[1]) { ++apart; }
            }
        }
    });
    CHECK(numbers[1] == rounds);
    return apart;
}

}  // namespace

TEST_CASE("who shares a lock sees nothing half-written") {
    CHECK(seen_apart<std::shared_mutex>(2000) == 0);
#if defined(TOLL_HAS_ABSL_SYNCHRONIZATION)
    CHECK(seen_apart<AbslSharedMutex>(2000) == 0);
#endif
#if defined(TOLL_HAS_CONCURRENCY_KIT)
    CHECK(seen_apart<ConcurrencyKitRwlock>(2000) == 0);
#endif
}

TEST_CASE("no lock lets two owners in: each increment is counted") {
    const unsigned threads = usable_threads();
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(row.counted(threads, 3000) == 3000 * threads);
    }
}

TEST_CASE("nor where threads outnumber CPUs and owners lose theirs") {
    // Few rounds: a lock that hands over in order of arrival waits a time slice for an owner without a CPU.
    const unsigned threads = usable_threads() + 2;
    for (const Row& row : rows) {
        CAPTURE(row.name);
        CHECK(row.counted(threads, 60) == 60 * threads);
    }
}

TEST_CASE("the count shows a lock that excludes nobody") {
    if (toll::usable_cpus().size() < 2) {
        MESSAGE("not checked: needs two CPUs");
        return;
    }
    // One of them may be through before a busy machine gives the other a CPU: tried until they met.
    bool lost = false;
    for (int attempt = 0; attempt < 200 && !lost; ++attempt) {
        lost = counted<Nothing, LosingCounter>(2, 20'000) < 40'000;
    }
    CHECK(lost);
    CHECK(counted<StdMutex, LosingCounter>(2, 20'000) == 40'000);
}

TEST_CASE("what a guard holds it gives back") {
    Mcs mcs;
    for (int i = 0; i < 3; ++i) { const Held<Mcs> held{mcs}; }
    TestAndTestAndSet spinlock;
    for (int i = 0; i < 3; ++i) { const Held<TestAndTestAndSet> held{spinlock}; }
    static_assert(PlainLock<Ticket> && !PlainLock<Mcs>);
    static_assert(!std::is_move_constructible_v<Held<Mcs>> && !std::is_copy_constructible_v<Held<Mcs>>);
}
