#pragma once

// The operations of reference/operations with a slow-down of known size, for tools that are not toll. Both
// sides of a comparison run the same code, the reading of the clock included; only the share differs.

#include "operations.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>

namespace peers {

/// Of an environment variable in per mille; 0 where it is not set.
inline double share_of(const char* variable) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::strtod(text, nullptr) / 1e3 : 0.0;
}

/// PEERS_DRIFT: added besides, from nothing to this much and back in 20 s, in all processes alike.
inline double drift_now() {
    static const double most = share_of("PEERS_DRIFT");
    if (most == 0) { return 0; }
    const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
    return most * (1 - std::cos(2 * std::numbers::pi * now.count() / 20)) / 2;
}

/// One block: `calls` calls, then a wait of `share` of the time that they took. A wrong answer ends the
/// program.
template <class O>
void block(O& operation, std::uint64_t calls, double share) {
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t right = 0;
    for (std::uint64_t call = 0; call < calls; ++call) {
        std::uint64_t answer = operation();
        asm volatile("" : "+r"(answer) : : "memory");
        right += answer;
    }
    if (right != calls) {
        std::fputs("a wrong answer\n", stderr);
        std::exit(4);
    }
    const auto took = std::chrono::steady_clock::now() - begin;
    const auto ends = begin + took * ((1 + share) * (1 + drift_now()));
    while (std::chrono::steady_clock::now() < ends) {}
}

/// Calls `each.template operator()<O>(name, calls of a block)` for every operation. A block takes some 100
/// us: a wait costs up to 0.2 us beyond its length, and in blocks of 4 us (atomic_add) a slow-down of 2 % was
/// one of 6.7 % (median of nine pairs of launches).
template <class Each>
void for_each_operation(Each each) {
    namespace o = toll::operations;
    each.template operator()<o::HashMapLookUp>("hash_map_lookup", 10'000);
    each.template operator()<o::TreeLookUp>("tree_lookup", 2'000);
    each.template operator()<o::AtomicAdd>("atomic_add", 40'000);
    each.template operator()<o::UncontendedLock>("uncontended_lock", 10'000);
    each.template operator()<o::NewDelete>("new_delete", 10'000);
    each.template operator()<o::ShortString>("short_string", 5'000);
    each.template operator()<o::Sort512>("sort_512", 20);
    each.template operator()<o::Sum4096>("sum_4096", 200);
    each.template operator()<o::AllocationHeavy>("allocation_heavy", 50);
    each.template operator()<o::MemoryBound>("memory_bound", 100);
}

}  // namespace peers
