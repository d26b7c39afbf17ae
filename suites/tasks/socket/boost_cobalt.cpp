#include "asio_sockets.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <boost/cobalt/op.hpp>
#include <boost/cobalt/spawn.hpp>
#include <boost/cobalt/task.hpp>
#include <boost/system/system_error.hpp>

#include <future>
#include <thread>

namespace {

namespace asio = boost::asio;
namespace cobalt = boost::cobalt;
using Socket = asio::ip::tcp::socket;  // what Cobalt's coroutines run on is an any_io_executor too
using toll::socket::adopted;
using toll::socket::Message;

/// Until the client has closed.
cobalt::task<void> serve(Socket socket) {
    Message message;  // NOLINT(*-member-init) all of it is read
    try {
        for (;;) {
            co_await asio::async_read(socket, asio::buffer(message), cobalt::use_op);
            const Message answer = toll::socket::answer_to(message);
            co_await asio::async_write(socket, asio::buffer(answer), cobalt::use_op);
        }
    } catch (const boost::system::system_error& error) {
        if (error.code() != asio::error::eof && error.code() != asio::error::connection_reset) { throw; }
    }
}

cobalt::task<std::uint64_t> ask(Socket& socket, toll::Share share) {
    std::uint64_t sum = 0;
    Message answer;  // NOLINT(*-member-init) all of it is read
    for (std::uint64_t number = share.first; number < share.first + share.count; ++number) {
        const Message request = toll::socket::request(number);
        co_await asio::async_write(socket, asio::buffer(request), cobalt::use_op);
        co_await asio::async_read(socket, asio::buffer(answer), cobalt::use_op);
        sum += toll::socket::checked(answer, number);
    }
    co_return sum;
}

}  // namespace

struct BoostCobalt {
    explicit BoostCobalt(const toll::socket::Inputs& inputs) : inputs_(inputs) {
        for (toll::socket::Ends& ends : toll::socket::connections(inputs.connections)) {
            clients_.push_back(adopted<Socket>(asking_, std::move(ends.client)));
            cobalt::spawn(answering_, serve(adopted<Socket>(answering_, std::move(ends.server))),
                          asio::detached);
        }
        server_ = std::jthread([this] { answering_.run(); });
    }
    BoostCobalt(const BoostCobalt&) = delete;
    BoostCobalt& operator=(const BoostCobalt&) = delete;
    ~BoostCobalt() { clients_.clear(); }  // after which the server has nothing to do, and ends

    std::uint64_t run() {
        std::vector<std::future<std::uint64_t>> answered;
        for (unsigned i = 0; i < clients_.size(); ++i) {
            answered.push_back(cobalt::spawn(asking_, ask(clients_[i], inputs_.share(i)), asio::use_future));
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

TOLL_CONTENDER(socket, boost_cobalt, BoostCobalt);
