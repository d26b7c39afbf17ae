#pragma once

#include <toll/workload.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace toll::skynet {

/// Counts a tree's units in a pass of its own, which nobody times: counting costs what some units cost.
class Census {
public:
    void reset() noexcept {
        for (auto* const count : {&created_, &inline_, &alive_, &peak_}) { *count = 0; }
    }
    /// A unit was made. It is alive until ended(): until what it holds is given back.
    void made() noexcept {
        created_.fetch_add(1, std::memory_order_relaxed);
        const std::int64_t alive = alive_.fetch_add(1, std::memory_order_relaxed) + 1;
        std::int64_t peak = peak_.load(std::memory_order_relaxed);
        while (peak < alive && !peak_.compare_exchange_weak(peak, alive, std::memory_order_relaxed)) {}
    }
    void ended() noexcept { alive_.fetch_sub(1, std::memory_order_relaxed); }
    /// A node runs in its parent.
    void ran_inline() noexcept { inline_.fetch_add(1, std::memory_order_relaxed); }
    /// What was made runs in its parent after all.
    void is_inline() noexcept {
        created_.fetch_sub(1, std::memory_order_relaxed);
        ended();
        ran_inline();
    }

    [[nodiscard]] Footing footing() const {
        return {{"units_created", created_.load()},
                {"units_inline", inline_.load()},
                {"units_alive_peak", peak_.load()}};
    }

private:
    std::atomic<std::int64_t> created_{0};
    std::atomic<std::int64_t> inline_{0};
    std::atomic<std::int64_t> alive_{0};
    std::atomic<std::int64_t> peak_{0};
};

/// Of the process, because units know nothing that they could reach another one by.
inline Census census;

/// What a unit carries where units are not counted, which is wherever they are timed: nothing.
struct Uncounted {
    static void ran_inline() noexcept {}
};

/// What it carries in the counting pass, from its making to its end.
class Counted {
public:
    Counted() noexcept { census.made(); }
    Counted(Counted&& other) noexcept : mine_(std::exchange(other.mine_, false)) {}
    Counted(const Counted&) = delete;
    Counted& operator=(Counted&&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() {
        if (mine_) { census.ended(); }
    }

    static void ran_inline() noexcept { census.ran_inline(); }

private:
    bool mine_ = true;
};

}  // namespace toll::skynet
