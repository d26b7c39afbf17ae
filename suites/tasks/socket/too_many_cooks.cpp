#define TMC_USE_BOOST_ASIO

#include "asio_sockets.hpp"

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>
#include <tmc/asio/aw_asio.hpp>
#include <tmc/asio/ex_asio.hpp>
#include <tmc/spawn_many.hpp>
#include <tmc/sync.hpp>
#include <tmc/task.hpp>

#include <future>

namespace {

namespace asio = boost::asio;
using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;
using toll::socket::adopted;
using toll::socket::Message;

/// Until the client has closed.
tmc::task<void> serve(Socket socket) {
    Message message;  // NOLINT(*-member-init) all of it is read
    for (;;) {
        const auto [ended, came] = co_await asio::async_read(socket, asio::buffer(message), tmc::aw_asio);
        if (ended) { co_return; }
        const Message answer = toll::socket::answer_to(message);
        const auto [error, sent] = co_await asio::async_write(socket, asio::buffer(answer), tmc::aw_asio);
        if (error) { co_return; }
    }
}

/// What a connection was answered. A task of TooManyCooks may not throw: that ends the process.
struct Answered {
    std::uint64_t sum = 0;
    boost::system::error_code error;
};

tmc::task<Answered> ask(Socket& socket, toll::Share share) {
    std::uint64_t sum = 0;
    Message answer;  // NOLINT(*-member-init) all of it is read
    for (std::uint64_t number = share.first; number < share.first + share.count; ++number) {
        const Message request = toll::socket::request(number);
        const auto [failed, sent] = co_await asio::async_write(socket, asio::buffer(request), tmc::aw_asio);
        if (failed) { co_return Answered{0, failed}; }
        const auto [ended, came] = co_await asio::async_read(socket, asio::buffer(answer), tmc::aw_asio);
        if (ended) { co_return Answered{0, ended}; }
        sum += toll::socket::checked(answer, number);
    }
    co_return Answered{sum, {}};
}

}  // namespace

struct TooManyCooks {
    explicit TooManyCooks(const toll::socket::Inputs& inputs) : inputs_(inputs) {
        asking_.init();
        answering_.init();
        for (toll::socket::Ends& ends : toll::socket::connections(inputs.connections)) {
            clients_.push_back(adopted<Socket>(asking_, std::move(ends.client)));
            served_.push_back(
                tmc::post_waitable(answering_, serve(adopted<Socket>(answering_, std::move(ends.server)))));
        }
    }
    TooManyCooks(const TooManyCooks&) = delete;
    TooManyCooks& operator=(const TooManyCooks&) = delete;
    ~TooManyCooks() {
        clients_.clear();
        for (auto& one : served_) { one.wait(); }
    }

    std::uint64_t run() {
        std::uint64_t sum = 0;
        for (const Answered& one : tmc::post_waitable(asking_, ask_all()).get()) {
            if (one.error) { throw boost::system::system_error(one.error, "a connection broke"); }
            sum += one.sum;
        }
        return sum;
    }

private:
    tmc::task<std::vector<Answered>> ask_all() {
        std::vector<tmc::task<Answered>> asking;
        for (unsigned i = 0; i < clients_.size(); ++i) {
            asking.push_back(ask(clients_[i], inputs_.share(i)));
        }
        co_return co_await tmc::spawn_many(asking);
    }

    toll::socket::Inputs inputs_;
    tmc::ex_asio asking_;
    tmc::ex_asio answering_;
    std::vector<Socket> clients_;
    std::vector<std::future<void>> served_;
};

TOLL_CONTENDER(socket, too_many_cooks, TooManyCooks);
