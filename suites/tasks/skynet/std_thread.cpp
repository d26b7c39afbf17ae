#include "workload.hpp"

#include <array>
#include <numeric>
#include <thread>

struct StdThread {
    explicit StdThread(const toll::skynet::Inputs&) {}

    std::uint64_t run(toll::skynet::Subtree node) {
        if (node.is_leaf()) { return node.ordinal; }
        std::array<std::uint64_t, toll::skynet::children> sums{};
        std::array<std::jthread, toll::skynet::children> threads;
        for (std::uint64_t i = 0; i < sums.size(); ++i) {
            threads[i] = std::jthread([this, &sums, node, i] { sums[i] = run(node.child(i)); });
        }
        for (auto& thread : threads) { thread.join(); }
        return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    }
};

TOLL_CONTENDER(skynet, std_thread, StdThread);
