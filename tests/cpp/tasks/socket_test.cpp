#include "made.hpp"

#include "socket/connections.hpp"
#include "socket/workload.hpp"

#include <doctest/doctest.h>

#include <sys/socket.h>

#include <cerrno>

namespace {

/// Answers by calls; it spoils the last word of one answer where it is told so.
template <bool Right>
struct Calls {
    explicit Calls(const toll::socket::Inputs& inputs) : inputs_(inputs) {}

    std::uint64_t run() {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < inputs_.connections; ++i) {
            const toll::Share share = inputs_.share(i);
            for (std::uint64_t number = share.first; number < share.first + share.count; ++number) {
                auto answer = toll::socket::answer_to(toll::socket::request(number));
                if (!Right && number == 3) { ++answer.back(); }
                sum += toll::socket::checked(answer, number);
            }
        }
        return sum;
    }

    toll::socket::Inputs inputs_;
};

template <bool Right>
using Pair = toll::socket::Workload<Calls<Right>>;

}  // namespace

TEST_CASE("the answer of tasks/socket is the sum of the answers") {
    auto workload = made<Pair<true>>({"requests=10", "connections=3"});
    CHECK(workload.run(2) == workload.expected(2));
    CHECK(workload.expected(1) == 110);
    // Who does not say so is taken for a program of one thread.
    CHECK(std::get<std::int64_t>(workload.footing().all().at("threads")) == 2);
}

TEST_CASE("an answer of which any word is wrong counts nothing") {
    auto workload = made<Pair<false>>({"requests=10", "connections=3"});
    CHECK(workload.expected(1) - workload.run(1) == 6);
}

TEST_CASE("both ends of a connection know each other, and nobody waits in a call") {
    const auto connected = toll::socket::connections(2);
    REQUIRE(connected.size() == 2);
    for (const toll::socket::Ends& ends : connected) {
        char one = 'x';
        CHECK(::recv(ends.server.get(), &one, 1, 0) == -1);
        CHECK(errno == EAGAIN);
        REQUIRE(::send(ends.client.get(), "y", 1, 0) == 1);
        while (::recv(ends.server.get(), &one, 1, 0) == -1 && errno == EAGAIN) {}
        CHECK(one == 'y');
    }
}
