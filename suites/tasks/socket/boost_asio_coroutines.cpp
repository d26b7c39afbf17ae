#include "asio_sockets.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

#include <future>
#include <thread>

namespace {

namespace asio = boost::asio;
using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
template <class T>
using Coroutine = asio::awaitable<T, Executor>;
constexpr asio::use_awaitable_t<Executor> use_awaitable;
using toll::socket::adopted;
using toll::socket::Message;

/// Until the client has closed. Reads stand in the loops: a function for them would be a coroutine more for
/// each message.
Coroutine<void> serve(Socket socket) {
    try {
        for (;;) {
            Message request;  // NOLINT(*-member-init) all of it is read
            co_await asio::async_read(socket, asio::buffer(request), use_awaitable);
            const Message answer = toll::socket::answer_to(request);
            co_await asio::async_write(socket, asio::buffer(answer), use_awaitable);
        }
    } catch (const boost::system::system_error& error) {
        if (error.code() != asio::error::eof && error.code() != asio::error::connection_reset) { throw; }
    }
}

Coroutine<std::uint64_t> ask(Socket& socket, toll::Share share) {
    std::uint64_t sum = 0;
    for (std::uint64_t number = share.first; number < share.first + share.count; ++number) {
        const Message request = toll::socket::request(number);
        co_await asio::async_write(socket, asio::buffer(request), use_awaitable);
        Message answer;  // NOLINT(*-member-init) all of it is read
        co_await asio::async_read(socket, asio::buffer(answer), use_awaitable);
        sum += toll::socket::checked(answer, number);
    }
    co_return sum;
}

}  // namespace

struct BoostAsioCoroutines {
    explicit BoostAsioCoroutines(const toll::socket::Inputs& inputs) : inputs_(inputs) {
        for (toll::socket::Ends& ends : toll::socket::connections(inputs.connections)) {
            clients_.push_back(adopted<Socket>(asking_, std::move(ends.client)));
            co_spawn(answering_, serve(adopted<Socket>(answering_, std::move(ends.server))), asio::detached);
        }
        server_ = std::jthread([this] { answering_.run(); });
    }
    BoostAsioCoroutines(const BoostAsioCoroutines&) = delete;
    BoostAsioCoroutines& operator=(const BoostAsioCoroutines&) = delete;
    ~BoostAsioCoroutines() { clients_.clear(); }  // after which the server has nothing to do, and ends

    std::uint64_t run() {
        std::vector<std::future<std::uint64_t>> answered;
        for (unsigned i = 0; i < clients_.size(); ++i) {
            answered.push_back(co_spawn(asking_, ask(clients_[i], inputs_.share(i)), asio::use_future));
        }
        asking_.restart();
        asking_.run();
        std::uint64_t sum = 0;
        for (auto& one : answered) { sum += one.get(); }
        return sum;
    }

private:
    toll::socket::Inputs inputs_;
    asio::io_context asking_{1};  // each has one thread
    asio::io_context answering_{1};
    std::vector<Socket> clients_;
    std::jthread server_;
};

TOLL_CONTENDER(socket, boost_asio_coroutines, BoostAsioCoroutines);
