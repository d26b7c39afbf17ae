#pragma once

#include <concurrencpp/concurrencpp.h>

#include <memory>

namespace toll {

/// concurrencpp's pool, which has up to as many threads as were asked for; the calling thread waits.
class ConcurrencppPool {
public:
    /// By reference: each child's copy of the shared pointer would change a counter that all threads share.
    using Executor = concurrencpp::thread_pool_executor&;

    explicit ConcurrencppPool(unsigned threads)
        : runtime_(with(threads)), executor_(runtime_.thread_pool_executor()) {}

    [[nodiscard]] Executor executor() const noexcept { return *executor_; }

private:
    static concurrencpp::runtime_options with(unsigned threads) {
        concurrencpp::runtime_options options;
        options.max_cpu_threads = threads;
        return options;
    }

    concurrencpp::runtime runtime_;
    std::shared_ptr<concurrencpp::thread_pool_executor> executor_;
};

}  // namespace toll
