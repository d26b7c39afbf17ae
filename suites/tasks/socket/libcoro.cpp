#include "connections.hpp"

#include <sys/socket.h>
#include <sys/types.h>
#include <coro/io_scheduler.hpp>
#include <coro/poll.hpp>
#include <coro/sync_wait.hpp>
#include <coro/task.hpp>
#include <coro/when_all.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using toll::socket::Message;
using toll::socket::OwnedDescriptor;
using Events = std::unique_ptr<coro::io_scheduler>;

/// A loop with a thread of its own, which also runs what waited. libcoro's default is a pool for that, to
/// which each answer would be handed over.
Events events() {
    return coro::io_scheduler::make_unique(
        {.execution_strategy = coro::io_scheduler::execution_strategy_t::process_tasks_inline});
}

/// A connection's end, as coro::net::tcp::client has it: poll() of the scheduler, then the kernel's send and
/// recv. Loops stand in one function each: libcoro allocates a coroutine for each poll as it is.
class End {
public:
    End(Events& events, OwnedDescriptor descriptor)
        : events_(events.get()), descriptor_(std::move(descriptor)) {}

    /// Sends without asking whether there is room, as libcoro's examples do, and waits where there is none.
    /// Returns how much of it was sent; 0 where the caller shall wait for poll_op::write. Throws
    /// std::system_error where the connection broke.
    [[nodiscard]] std::size_t send(std::span<const std::byte> rest) const {
        return checked(::send(descriptor_.get(), rest.data(), rest.size(), MSG_NOSIGNAL), "send");
    }
    /// After poll_op::read: how much came, 0 where nothing did; `ended` once the other side has closed.
    [[nodiscard]] std::size_t receive(std::span<std::byte> rest, bool& ended) const {
        const ssize_t came = ::recv(descriptor_.get(), rest.data(), rest.size(), 0);
        ended = came == 0;
        return checked(came, "recv");
    }
    [[nodiscard]] coro::task<coro::poll_status> poll(coro::poll_op what) const {
        return events_->poll(descriptor_.get(), what);
    }

private:
    static std::size_t checked(ssize_t result, const char* what) {
        if (result >= 0) { return static_cast<std::size_t>(result); }
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) { return 0; }
        throw std::system_error(errno, std::generic_category(), what);
    }

    coro::io_scheduler* events_;
    OwnedDescriptor descriptor_;
};

/// Until the client has closed.
coro::task<void> serve(End end) {
    try {
        for (;;) {
            Message request;  // NOLINT(*-member-init) all of it is read
            for (std::span<std::byte> rest = std::as_writable_bytes(std::span{request}); !rest.empty();) {
                co_await end.poll(coro::poll_op::read);
                bool ended = false;
                rest = rest.subspan(end.receive(rest, ended));
                if (ended) { co_return; }
            }
            const Message answer = toll::socket::answer_to(request);
            for (std::span<const std::byte> rest = std::as_bytes(std::span{answer}); !rest.empty();) {
                rest = rest.subspan(end.send(rest));
                if (!rest.empty()) { co_await end.poll(coro::poll_op::write); }
            }
        }
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::connection_reset) { throw; }
    }
}

coro::task<std::uint64_t> ask(const End& end, toll::Share share) {
    std::uint64_t sum = 0;
    for (std::uint64_t number = share.first; number < share.first + share.count; ++number) {
        const Message request = toll::socket::request(number);
        for (std::span<const std::byte> rest = std::as_bytes(std::span{request}); !rest.empty();) {
            rest = rest.subspan(end.send(rest));
            if (!rest.empty()) { co_await end.poll(coro::poll_op::write); }
        }
        Message answer;  // NOLINT(*-member-init) all of it is read
        for (std::span<std::byte> rest = std::as_writable_bytes(std::span{answer}); !rest.empty();) {
            co_await end.poll(coro::poll_op::read);
            bool ended = false;
            rest = rest.subspan(end.receive(rest, ended));
            if (ended) { throw std::runtime_error("a connection broke"); }
        }
        sum += toll::socket::checked(answer, number);
    }
    co_return sum;
}

}  // namespace

struct Libcoro {
    explicit Libcoro(const toll::socket::Inputs& inputs) : inputs_(inputs) {
        for (toll::socket::Ends& ends : toll::socket::connections(inputs.connections)) {
            clients_.emplace_back(asking_, std::move(ends.client));
            answering_->spawn_detached(serve(End{answering_, std::move(ends.server)}));
        }
    }
    Libcoro(const Libcoro&) = delete;
    Libcoro& operator=(const Libcoro&) = delete;
    ~Libcoro() { clients_.clear(); }  // after which those who serve end, for which their loop waits

    std::uint64_t run() {
        std::vector<coro::task<std::uint64_t>> asking;
        for (unsigned i = 0; i < clients_.size(); ++i) {
            asking.push_back(asking_->schedule(ask(clients_[i], inputs_.share(i))));
        }
        auto answered = coro::sync_wait(coro::when_all(std::move(asking)));
        std::uint64_t sum = 0;
        for (auto& one : answered) { sum += one.return_value(); }
        return sum;
    }

private:
    toll::socket::Inputs inputs_;
    Events asking_ = events();
    Events answering_ = events();
    std::vector<End> clients_;
};

TOLL_CONTENDER(socket, libcoro, Libcoro);
