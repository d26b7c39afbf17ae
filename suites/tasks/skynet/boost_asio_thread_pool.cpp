#include "asio_tree.hpp"
#include "asio_workers.hpp"

#include <boost/asio/use_future.hpp>

struct BoostAsioThreadPool : toll::skynet::Coroutines<boost::asio::thread_pool::executor_type> {
    explicit BoostAsioThreadPool(const toll::skynet::Inputs& inputs) : Coroutines(inputs), workers_(inputs) {}

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        return co_spawn(workers_.pool(), sum(workers_.pool().get_executor(), root, Unit{}),
                        boost::asio::use_future)
            .get();
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return BoostAsioThreadPool(inputs).run<toll::skynet::Counted>(root);
    }

    [[nodiscard]] const toll::skynet::Pins& pins() const noexcept { return workers_.pins(); }

    toll::skynet::AsioWorkers workers_;
};

TOLL_CONTENDER(skynet, boost_asio_thread_pool, BoostAsioThreadPool);
