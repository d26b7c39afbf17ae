#include "../shared/asio_pool.hpp"
#include "workload.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

struct BoostAsioThreadPool {
    explicit BoostAsioThreadPool(const toll::matmul::Inputs& inputs)
        : pool_(inputs.threads, alive(inputs.n)) {}

    void run(const toll::matmul::Product& all) { pool_.execute(multiply(pool_.executor(), all)); }

    // co_spawn() begins a child in the thread that spawns it, so that the quarters of quarters of the first
    // half are one thread's (64 of 512 leaves at n=256, 256 of 4,096 at 512), and what follows is of all.
    // Children that queue themselves by post() took 1.3 times the CPU time (n=512, 2 threads).
    static toll::AsioPool::Awaitable<std::uint64_t> multiply(
        toll::AsioPool::Executor pool, toll::matmul::Product block) {  // NOLINT(misc-no-recursion)
#if defined(__clang_analyzer__)
        co_return 0;  // it does not know how coroutines begin, and finds uninitialised frames inside Asio
#endif
        if (block.size == toll::matmul::leaf) {
            block.multiply();
            co_return 0;
        }
        for (const std::array<toll::matmul::Product, 4>& half : {block.first_half(), block.second_half()}) {
            const auto quarter = [&](std::size_t i) { return multiply(pool, half[i]); };
            co_await toll::total_of_spawned<4>(pool, half.size(), quarter);
        }
        co_return 0;
    }

    // One half of a product's eight at a time.
    static constexpr std::uint64_t alive(std::size_t n) noexcept {
        std::uint64_t all = 0;
        for (std::uint64_t of_size = 4, size = n / 2; size >= toll::matmul::leaf; of_size *= 4, size /= 2) {
            all += of_size;
        }
        return all;
    }

    toll::AsioPool pool_;
};

TOLL_CONTENDER(matmul, boost_asio_thread_pool, BoostAsioThreadPool);
