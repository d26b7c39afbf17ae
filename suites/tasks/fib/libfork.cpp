#include "workload.hpp"

#include <libfork/core.hpp>
#include <libfork/schedule.hpp>

struct LibFork {
    explicit LibFork(const toll::fib::Inputs& inputs) : threads_(inputs.threads) {}

    std::uint64_t run(std::uint64_t n) { return lf::sync_wait(threads_, forking, n); }

    static constexpr auto forking = [](auto self, std::uint64_t n) -> lf::task<std::uint64_t> {
        if (n < 2) { co_return n; }
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        co_await lf::fork(&first, self)(n - 1);
        co_await lf::call(&second, self)(n - 2);
        co_await lf::join;
        co_return first + second;
    };

    lf::lazy_pool threads_;
};

TOLL_CONTENDER(fib, libfork, LibFork);
