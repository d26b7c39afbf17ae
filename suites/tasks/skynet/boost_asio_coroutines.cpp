#include "../shared/one_thread.hpp"
#include "asio_tree.hpp"
#include "pins.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

struct BoostAsioCoroutines : toll::skynet::Coroutines<boost::asio::io_context::executor_type> {
    explicit BoostAsioCoroutines(const toll::skynet::Inputs& inputs) : Coroutines(inputs), pins_(inputs) {
        toll::require_one_thread(inputs.threads, "one thread runs the io_context");
        pins_.tie_caller();
    }

    template <class Unit = toll::skynet::Uncounted>
    std::uint64_t run(toll::skynet::Subtree root) {
        auto result = co_spawn(context_, sum(context_.get_executor(), root, Unit{}), boost::asio::use_future);
        context_.restart();
        context_.run();
        return result.get();
    }
    static std::uint64_t count(const toll::skynet::Inputs& inputs, toll::skynet::Subtree root) {
        return BoostAsioCoroutines(inputs).run<toll::skynet::Counted>(root);
    }

    [[nodiscard]] const toll::skynet::Pins& pins() const noexcept { return pins_; }

    toll::skynet::Pins pins_;
    boost::asio::io_context context_{1};  // the hint: one thread runs it
};

TOLL_CONTENDER(skynet, boost_asio_coroutines, BoostAsioCoroutines);
