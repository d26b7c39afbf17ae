#pragma once

// Counters that need no lock.

#include <toll/errors.hpp>
#include <toll/relax.hpp>

#include <atomic>
#include <cstdint>

namespace toll::contention {

/// Never loses: every draw succeeds at once, so one beyond the goal is added too.
class FetchAdd {
public:
    static constexpr bool oversteps = true;
    std::uint64_t draw(std::uint64_t) { return count_.fetch_add(1, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_{0};
};

/// As the document's program adds: sequentially consistent, which is the same instruction on x86.
class FetchAddAsAsked {
public:
    void add(std::uint64_t count) {
        for (; count != 0; --count) { count_.fetch_add(1); }
    }
    [[nodiscard]] std::uint64_t count() const { return count_.load(); }

private:
    std::atomic<std::uint64_t> count_{0};
};

class CompareExchange {
public:
    std::uint64_t draw(std::uint64_t goal) {
        std::uint64_t seen = count_.load(std::memory_order_relaxed);
        while (seen < goal && !count_.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) {}
        return seen;
    }
    [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_{0};
};

/// A counter that carries a version, as lists without locks do: a load and a compare-exchange of 16 bytes, by
/// libatomic where the compiler calls it. Such lists may load the halves one by one.
class SixteenBytes {
public:
    std::uint64_t draw(std::uint64_t goal) {
        Wide seen = wide_.load(std::memory_order_relaxed);
        while (seen.count < goal && !wide_.compare_exchange_weak(seen, {seen.count + 1, seen.version + 1},
                                                                 std::memory_order_relaxed)) {}
        return seen.count;
    }
    /// A version that is not the count's shows a torn write: such a count is none.
    [[nodiscard]] std::uint64_t count() const {
        const Wide last = wide_.load(std::memory_order_relaxed);
        if (last.count != last.version) { throw WrongAnswer("the two halves of a 16-byte atomic differ"); }
        return last.count;
    }

private:
    struct alignas(16) Wide {
        std::uint64_t count = 0;
        std::uint64_t version = 0;
    };
    std::atomic<Wide> wide_{Wide{}};
};

}  // namespace toll::contention
