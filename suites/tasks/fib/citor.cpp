#include "../shared/citor_pool.hpp"
#include "workload.hpp"

struct Citor {
    explicit Citor(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) {  // NOLINT(misc-no-recursion)
        if (n < 2) { return n; }
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        threads_.fork_join([&, n] { first = run(n - 1); }, [&, n] { second = run(n - 2); });
        return first + second;
    }

    toll::CitorPool threads_;
};

TOLL_CONTENDER(fib, citor, Citor);
