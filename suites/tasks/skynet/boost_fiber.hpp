#pragma once

// What the Boost.Fiber contenders share: one fiber for each node, joined by its parent.

#include "workload.hpp"

#include <array>
#include <boost/fiber/all.hpp>
#include <boost/version.hpp>
#include <memory>
#include <numeric>

namespace toll::skynet {

/// The published programs used 4 KiB (one page), which crashes on a machine with AVX-512: the dynamic linker saves the
/// vector registers on the fiber's stack when it resolves a symbol for the first time. Seen with Boost 1.81 and glibc
/// 2.36: 4 and 8 KiB crash, 8 KiB survives with LD_BIND_NOW=1, 16 KiB always did.
inline constexpr std::size_t fiber_stack_bytes = 16 * 1024;

/// Sum of `node`; every child runs at once on a fiber of its own (`launch::dispatch`, as Boost.Fiber's own skynet).
template <class StackAllocator>
std::uint64_t fiber_sum(StackAllocator& stacks, Subtree node) {
    if (node.is_leaf()) { return node.ordinal; }
    std::array<std::uint64_t, children> sums{};
    std::array<boost::fibers::fiber, children> fibers;
    for (std::uint64_t i = 0; i < children; ++i) {
        fibers[i] = boost::fibers::fiber(boost::fibers::launch::dispatch, std::allocator_arg, stacks,
                                         [&stacks, &sums, node, i] { sums[i] = fiber_sum(stacks, node.child(i)); });
    }
    for (auto& fiber : fibers) { fiber.join(); }
    return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

}  // namespace toll::skynet
