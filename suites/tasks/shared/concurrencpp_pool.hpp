#pragma once

#include <concurrencpp/concurrencpp.h>

#include <memory>

namespace toll {

/// concurrencpp's pool, which has up to as many threads as were asked for; the calling thread waits.
class ConcurrencppPool {
public:
    using Executor = std::shared_ptr<concurrencpp::thread_pool_executor>;

    explicit ConcurrencppPool(unsigned threads) : runtime_(with(threads)) {}

    [[nodiscard]] Executor executor() const { return runtime_.thread_pool_executor(); }

private:
    static concurrencpp::runtime_options with(unsigned threads) {
        concurrencpp::runtime_options options;
        options.max_cpu_threads = threads;
        return options;
    }

    concurrencpp::runtime runtime_;
};

}  // namespace toll
