#include "workload.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

/// A timer of an io_context that this thread runs: how an asynchronous program waits.
struct BoostAsio {
    boost::asio::io_context context{1};
    boost::asio::steady_timer timer{context};
    void sleep(toll::sleep::nanoseconds length) {
        timer.expires_after(length);
        timer.async_wait([](const boost::system::error_code&) {});
        context.run_one();
        context.restart();
    }
};

TOLL_CONTENDER(sleep, boost_asio, BoostAsio);
