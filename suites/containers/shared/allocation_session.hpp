#pragma once

// What both allocation workloads do around their timed parts.

#include "../../latency/shared/placement.hpp"
#include "../../latency/shared/second_thread.hpp"
#include "blocks.hpp"
#include "peer.hpp"
#include "resident_memory.hpp"

#include <toll/contender.hpp>
#include <toll/threads.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace toll::allocate {

/// The resident set beyond what it was before the first block was taken.
struct MemoryUse {
    std::optional<std::int64_t> live_bytes;        // all blocks taken and stamped
    std::optional<std::int64_t> after_free_bytes;  // all blocks given back
};

/// A contender's blocks, and the thread that gives them back where that is another one.
template <Family F>
class Session {
public:
    static std::vector<Parameter> parameters() {
        return {
            {"pattern", "same_thread", "",
             "same_thread: a block is given back by the thread that took it; other_thread: by another one"},
            {"size", "64", "bytes", "of a block; growing: 16 B, 32 B and so on to 1 MiB, then again"},
            {"live", "1000", "blocks", "taken before the first is given back; at most 64 MiB of them"}};
    }

    explicit Session(const Arguments& arguments)
        : size_(parsed_size(arguments.text("size"))), remote_(is_remote(arguments)) {
        if (remote_ && F::is_for_one_thread) {
            throw Unsupported("these blocks belong to one thread; ask for pattern=same_thread");
        }
        const auto live = static_cast<std::size_t>(arguments.number("live", 1, most_live));
        if (remote_) {
            if (usable_cpus().size() < 2) {
                throw Unsupported("needs two CPUs, one for each thread; this process may use " +
                                  std::to_string(usable_cpus().size()));
            }
            // Not the first two: those may be hardware threads of one core, which have one first cache.
            latency::Topology topology;
            pair_ = latency::choose_pair("auto", usable_cpus(), topology);
            pinned_.emplace(pair_.cpus[0]);
            peer_.emplace(pair_.cpus[1]);
        } else {
            // Else malloc would leave out atomic operations, as in no program with threads.
            second_.emplace();
        }
        blocks_ = F::make(size_, live_blocks(size_, live));
        // A cycle in each session, so that no timed call is a thread's first: that costs the allocator a
        // microsecond. What it shows is the first one's, because a layout seed makes all of this anew in a
        // heap that has held blocks before.
        const MemoryUse use = observed_use();
        static const MemoryUse first_use = use;
        use_ = first_use;
    }

    [[nodiscard]] Blocks& blocks() noexcept { return *blocks_; }
    [[nodiscard]] std::size_t count() const noexcept { return blocks_->count(); }

    /// Runs work() in the thread that gives blocks back.
    template <class Work>
    void where_freed(Work&& work) {
        if (peer_) {
            peer_->run(work);
        } else {
            work();
        }
    }

    [[nodiscard]] Details details() const {
        Details all;
        if (use_.live_bytes) { all.emplace("live_bytes", static_cast<double>(*use_.live_bytes)); }
        if (use_.after_free_bytes) {
            all.emplace("after_free_bytes", static_cast<double>(*use_.after_free_bytes));
        }
        return all;
    }

    [[nodiscard]] Footing footing() const {
        Footing all{{"threads", remote_ ? 2 : 1}, {"live_blocks", count()}};
        if (remote_) {
            all.set({"pinned_cpus", cpu_list(pair_.cpus)});
            all.set({"placement", pair_.placement});
        } else {
            all.set({"second_thread", latency::SecondThread::seen()});
        }
        return all;
    }

private:
    static constexpr std::uint64_t most_live = 4'000'000;

    static bool is_remote(const Arguments& arguments) {
        const std::string& pattern = arguments.text("pattern");
        if (pattern != "same_thread" && pattern != "other_thread") {
            throw UsageError("pattern is same_thread or other_thread, not '" + pattern + "'");
        }
        return pattern == "other_thread";
    }

    MemoryUse observed_use() {
        const auto before = resident_bytes();
        blocks_->fill(count());
        const auto live = resident_bytes();
        where_freed([this] { (void)blocks_->drain(count()); });
        const auto after = resident_bytes();
        if (!before || !live || !after) { return {}; }
        return {*live - *before, *after - *before};
    }

    std::optional<Peer> peer_;  // first, as its lines are aligned
    std::size_t size_;
    std::unique_ptr<Blocks> blocks_;
    std::optional<PinnedHere> pinned_;
    MemoryUse use_;
    latency::Pair pair_;  // of CPUs, where another thread gives blocks back
    std::optional<latency::SecondThread> second_;
    bool remote_;
};

}  // namespace toll::allocate
