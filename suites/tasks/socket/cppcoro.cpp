#include "connections.hpp"

#include <cppcoro/async_scope.hpp>
#include <cppcoro/io_service.hpp>
#include <cppcoro/net/socket.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Socket = cppcoro::net::socket;
using toll::socket::Message;

/// One of cppcoro's in place of a descriptor, which it closes in the end.
Socket adopted(cppcoro::io_service& service, toll::socket::OwnedDescriptor end) {
    return Socket{end.release(), service.get_mq()};
}

/// Until the client has closed. Loops stand where others have a function: that would be another coroutine,
/// with a block from the heap for each message.
cppcoro::task<void> serve(Socket socket) {
    try {
        for (;;) {
            Message request;  // NOLINT(*-member-init) all of it is read
            for (std::span<std::byte> rest = std::as_writable_bytes(std::span{request}); !rest.empty();) {
                const std::size_t came = co_await socket.recv(rest.data(), rest.size());
                if (came == 0) { co_return; }
                rest = rest.subspan(came);
            }
            const Message answer = toll::socket::answer_to(request);
            for (std::span<const std::byte> rest = std::as_bytes(std::span{answer}); !rest.empty();) {
                rest = rest.subspan(co_await socket.send(rest.data(), rest.size()));
            }
        }
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::connection_reset) { throw; }
    }
}

cppcoro::task<std::uint64_t> ask(Socket& socket, toll::Share share) {
    std::uint64_t sum = 0;
    for (std::uint64_t number = share.first; number < share.first + share.count; ++number) {
        const Message request = toll::socket::request(number);
        for (std::span<const std::byte> rest = std::as_bytes(std::span{request}); !rest.empty();) {
            rest = rest.subspan(co_await socket.send(rest.data(), rest.size()));
        }
        Message answer;  // NOLINT(*-member-init) all of it is read
        for (std::span<std::byte> rest = std::as_writable_bytes(std::span{answer}); !rest.empty();) {
            const std::size_t came = co_await socket.recv(rest.data(), rest.size());
            if (came == 0) { throw std::runtime_error("a connection broke"); }
            rest = rest.subspan(came);
        }
        sum += toll::socket::checked(answer, number);
    }
    co_return sum;
}

}  // namespace

struct Cppcoro {
    explicit Cppcoro(const toll::socket::Inputs& inputs) : inputs_(inputs) {
        for (toll::socket::Ends& ends : toll::socket::connections(inputs.connections)) {
            clients_.push_back(adopted(asking_, std::move(ends.client)));
            served_.spawn(serve(adopted(answering_, std::move(ends.server))));
        }
        server_ = std::jthread([this] { answering_.process_events(); });
    }
    Cppcoro(const Cppcoro&) = delete;
    Cppcoro& operator=(const Cppcoro&) = delete;
    ~Cppcoro() {
        clients_.clear();
        cppcoro::sync_wait(served_.join());
        answering_.stop();
    }

    /// The thread that asks is the calling one.
    std::uint64_t run() {
        asking_.reset();
        const auto [sum, processed] = cppcoro::sync_wait(cppcoro::when_all(ask_all(), process()));
        return sum;
    }

private:
    cppcoro::task<std::uint64_t> ask_all() {
        std::vector<cppcoro::task<std::uint64_t>> asking;
        for (unsigned i = 0; i < clients_.size(); ++i) {
            asking.push_back(ask(clients_[i], inputs_.share(i)));
        }
        const StopsInTheEnd end{asking_};
        const std::vector<std::uint64_t> sums = co_await cppcoro::when_all(std::move(asking));
        co_return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    }

    cppcoro::task<std::uint64_t> process() { co_return asking_.process_events(); }

    /// Also where a connection breaks: else the events would be waited for all along.
    struct StopsInTheEnd {
        explicit StopsInTheEnd(cppcoro::io_service& events) : service(events) {}
        StopsInTheEnd(const StopsInTheEnd&) = delete;
        StopsInTheEnd& operator=(const StopsInTheEnd&) = delete;
        ~StopsInTheEnd() { service.stop(); }

        cppcoro::io_service& service;
    };

    toll::socket::Inputs inputs_;
    cppcoro::io_service asking_;
    cppcoro::io_service answering_;
    cppcoro::async_scope served_;
    std::vector<Socket> clients_;
    std::jthread server_;
};

TOLL_CONTENDER(socket, cppcoro, Cppcoro);
