#include "connections.hpp"

#include <folly/Range.h>
#include <folly/coro/BlockingWait.h>
#include <folly/coro/Collect.h>
#include <folly/coro/Task.h>
#include <folly/futures/Future.h>
#include <folly/io/async/AsyncSocket.h>
#include <folly/io/async/AsyncSocketException.h>
#include <folly/io/async/EventBase.h>
#include <folly/io/async/ScopedEventBaseThread.h>
#include <folly/io/coro/Transport.h>
#include <folly/net/NetworkSocket.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

using folly::coro::Transport;
using toll::socket::Message;
using toll::socket::OwnedDescriptor;

constexpr std::chrono::milliseconds for_ever{0};

/// One of Folly's in place of a descriptor, which it closes in the end. Called in the loop's thread.
Transport adopted(folly::EventBase& events, OwnedDescriptor end) {
    return {&events, folly::AsyncSocket::newSocket(&events, folly::NetworkSocket::fromFd(end.release()))};
}

/// The bytes of a message, as Folly names a range.
template <class Range, class Words>
Range bytes_of(Words& message) {
    return {reinterpret_cast<typename Range::iterator>(message.data()),  // NOLINT(*-reinterpret-cast)
            sizeof message};
}

/// Until the client has closed. Loops stand where others have a function: that would be another coroutine,
/// with a block from the heap for each message.
folly::coro::Task<void> serve(folly::EventBase* events, OwnedDescriptor descriptor) {
    Transport end = adopted(*events, std::move(descriptor));
    try {
        for (;;) {
            Message request;  // NOLINT(*-member-init) all of it is read
            for (auto rest = bytes_of<folly::MutableByteRange>(request); !rest.empty();) {
                const std::size_t came = co_await end.read(rest, for_ever);
                if (came == 0) { co_return; }
                rest.advance(came);
            }
            const Message answer = toll::socket::answer_to(request);
            co_await end.write(bytes_of<folly::ByteRange>(answer));  // all of it
        }
    } catch (const folly::AsyncSocketException& error) {
        if (error.getErrno() != ECONNRESET) { throw; }
    }
}

folly::coro::Task<std::uint64_t> ask(Transport& end, toll::Share share) {
    std::uint64_t sum = 0;
    for (std::uint64_t number = share.first; number < share.first + share.count; ++number) {
        const Message request = toll::socket::request(number);
        co_await end.write(bytes_of<folly::ByteRange>(request));
        Message answer;  // NOLINT(*-member-init) all of it is read
        for (auto rest = bytes_of<folly::MutableByteRange>(answer); !rest.empty();) {
            const std::size_t came = co_await end.read(rest, for_ever);
            if (came == 0) { throw std::runtime_error("a connection broke"); }
            rest.advance(came);
        }
        sum += toll::socket::checked(answer, number);
    }
    co_return sum;
}

folly::coro::Task<void> serve_all(std::vector<folly::coro::Task<void>> serving) {
    co_await folly::coro::collectAllRange(std::move(serving));
}

}  // namespace

struct FollyCoroutines {
    explicit FollyCoroutines(const toll::socket::Inputs& inputs) : inputs_(inputs) {
        std::vector<toll::socket::Ends> ends = toll::socket::connections(inputs.connections);
        asking_.getEventBase()->runInEventBaseThreadAndWait([&] {
            for (toll::socket::Ends& end : ends) {
                clients_.push_back(adopted(*asking_.getEventBase(), std::move(end.client)));
            }
        });
        std::vector<folly::coro::Task<void>> serving;
        for (toll::socket::Ends& end : ends) {
            serving.push_back(serve(answering_.getEventBase(), std::move(end.server)));
        }
        served_ =
            folly::coro::co_withExecutor(answering_.getEventBase(), serve_all(std::move(serving))).start();
    }
    FollyCoroutines(const FollyCoroutines&) = delete;
    FollyCoroutines& operator=(const FollyCoroutines&) = delete;
    ~FollyCoroutines() {
        asking_.getEventBase()->runInEventBaseThreadAndWait([this] { clients_.clear(); });
        served_.wait();
    }

    std::uint64_t run() {
        return folly::coro::blockingWait(folly::coro::co_withExecutor(asking_.getEventBase(), ask_all()));
    }

private:
    folly::coro::Task<std::uint64_t> ask_all() {
        std::vector<folly::coro::Task<std::uint64_t>> asking;
        for (unsigned i = 0; i < clients_.size(); ++i) {
            asking.push_back(ask(clients_[i], inputs_.share(i)));
        }
        const std::vector<std::uint64_t> sums = co_await folly::coro::collectAllRange(std::move(asking));
        co_return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    }

    toll::socket::Inputs inputs_;
    folly::ScopedEventBaseThread asking_;
    folly::ScopedEventBaseThread answering_;
    std::vector<Transport> clients_;
    folly::SemiFuture<folly::Unit> served_ = folly::makeSemiFuture();
};

TOLL_CONTENDER(socket, folly_coroutines, FollyCoroutines);
