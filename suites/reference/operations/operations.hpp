#pragma once

// Ten everyday operations. Each is a type that is made with its state and then called again and again; a call
// returns 1 where its own answer was right. Nothing here knows toll, so that other tools can time the same
// code.

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace toll::operations {

/// The next of a sequence of well-spread numbers (Knuth's MMIX multiplier, The Art of Computer Programming
/// 2).
class Sequence {
public:
    std::uint32_t next() noexcept {
        state_ = state_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        return static_cast<std::uint32_t>(state_ >> 33U);
    }

private:
    std::uint64_t state_ = 1;
};

/// Look-ups of keys that are there, in an order without pattern.
template <class Map>
class LookUp {
public:
    LookUp() {
        for (std::uint32_t key = 0; key < entries; ++key) { map_.emplace(key * spread, key); }
    }
    std::uint64_t operator()() {
        const std::uint32_t key = order_.next() % entries;
        const auto found = map_.find(key * spread);
        return found != map_.end() && found->second == key ? 1 : 0;
    }

private:
    static constexpr std::uint32_t entries = 1'000;
    static constexpr std::uint32_t spread = 2'654'435'761;  // odd: all keys differ
    Map map_;
    Sequence order_;
};

using HashMapLookUp = LookUp<std::unordered_map<std::uint32_t, std::uint32_t>>;
using TreeLookUp = LookUp<std::map<std::uint32_t, std::uint32_t>>;

/// One thread's read-modify-write.
class AtomicAdd {
public:
    std::uint64_t operator()() {
        return counter_.fetch_add(1, std::memory_order_relaxed) == calls_++ ? 1 : 0;
    }

private:
    std::atomic<std::uint64_t> counter_{0};
    std::uint64_t calls_ = 0;
};

/// A mutex that nobody else wants. A second thread has existed, else glibc would spare the atomics.
class UncontendedLock {
public:
    UncontendedLock() {
        std::thread([] {}).join();
    }
    std::uint64_t operator()() {
        const std::scoped_lock lock{mutex_};
        return ++protected_ != 0 ? 1 : 0;
    }

private:
    std::mutex mutex_;
    std::uint64_t protected_ = 0;
};

/// 64 bytes from the heap and back.
struct NewDelete {
    std::uint64_t operator()() const {
        auto block = std::make_unique<std::array<std::uint64_t, 8>>();
        asm volatile("" : : "r"(block.get()) : "memory");  // else the pair of calls may be left out
        return block->front() == 0 ? 1 : 0;
    }
};

/// A text of ten characters, within what std::string keeps in itself.
class ShortString {
public:
    std::uint64_t operator()() {
        std::string text = "key";
        text += std::to_string(1'000'000 + number_++ % 1'000'000);
        asm volatile("" : : "r"(text.data()) : "memory");
        return text.size() == 10 && text[3] == '1' ? 1 : 0;
    }

private:
    unsigned number_ = 0;  // wraps where a process makes more than it can tell
};

/// std::sort of 512 integers in random order, each time the same ones.
class Sort512 {
public:
    Sort512() {
        Sequence numbers;
        for (std::uint32_t& number : unsorted_) { number = numbers.next(); }
        const auto [low, high] = std::minmax_element(unsorted_.begin(), unsorted_.end());
        low_ = *low;
        high_ = *high;
    }
    std::uint64_t operator()() {
        sorted_ = unsorted_;
        std::sort(sorted_.begin(), sorted_.end());
        asm volatile("" : : "r"(sorted_.data()) : "memory");
        return sorted_.front() == low_ && sorted_.back() == high_ ? 1 : 0;
    }

private:
    std::array<std::uint32_t, 512> unsorted_{};
    std::array<std::uint32_t, 512> sorted_{};
    std::uint32_t low_ = 0;
    std::uint32_t high_ = 0;
};

/// The sum of 4,096 integers, 16 KiB.
class Sum4096 {
public:
    Sum4096() { std::iota(numbers_.begin(), numbers_.end(), 1U); }
    std::uint64_t operator()() {
        asm volatile("" : : "r"(numbers_.data()) : "memory");  // they may have changed since the last call
        return std::accumulate(numbers_.begin(), numbers_.end(), 0U) == 4'096U * 4'097U / 2 ? 1 : 0;
    }

private:
    std::vector<std::uint32_t> numbers_ = std::vector<std::uint32_t>(4'096);
};

/// A tree of 64 nodes built and taken down: 64 allocations and as many deallocations.
class AllocationHeavy {
public:
    std::uint64_t operator()() {
        std::map<std::uint32_t, std::uint32_t> tree;
        for (std::uint32_t i = 0; i < 64; ++i) { tree.emplace(i * 2'654'435'761U, i); }
        return tree.size() == 64 ? 1 : 0;
    }
};

/// 16 dependent loads from 64 MiB, each of a cache line of its own that no prefetcher expects. In huge pages
/// where the kernel grants them. At 32 MiB, as large as the cache that many cores share, it is luck which
/// loads hit: launches of one program differed by 4 to 13 %.
class MemoryBound {
public:
    MemoryBound() {
        // A full-period generator modulo a power of two visits every line once (Hull and Dobell, 1962).
        for (std::uint32_t line = 0; line < lines; ++line) {
            lines_[line] = {(line * 1'664'525U + 1'013'904'223U) % lines, line};
        }
    }
    std::uint64_t operator()() {
        const std::uint32_t from = at_;
        for (int step = 0; step < 16; ++step) { at_ = lines_[at_].next; }
        return lines_[at_].self == at_ && at_ != from ? 1 : 0;
    }

private:
    struct alignas(64) Line {
        std::uint32_t next;
        std::uint32_t self;
    };
    struct Free {
        void operator()(Line* block) const noexcept { std::free(block); }  // NOLINT(*-no-malloc)
    };
    static constexpr std::size_t huge_page_bytes = std::size_t{2} * 1024 * 1024;
    static constexpr std::size_t bytes = std::size_t{64} * 1024 * 1024;
    static constexpr std::uint32_t lines = bytes / sizeof(Line);

    static Line* allocated() {
        void* block = std::aligned_alloc(huge_page_bytes, bytes);
        if (block == nullptr) { throw std::bad_alloc(); }
        ::madvise(block, bytes, MADV_HUGEPAGE);  // refused: small pages
        return static_cast<Line*>(block);
    }

    std::unique_ptr<Line[], Free> lines_{allocated()};
    std::uint32_t at_ = 0;
};

}  // namespace toll::operations
