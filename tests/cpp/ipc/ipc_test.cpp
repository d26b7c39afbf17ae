// What the contenders of ipc share: messages that show damage, and the ring.
#include "shared/bells.hpp"
#include "shared/ring.hpp"
#include "shared/sockets.hpp"
#include "shared/stamped_message.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <thread>
#include <vector>

using namespace toll::ipc;

namespace {

/// Sends `count` messages one way from another thread, and counts those that arrive whole.
template <class Bell>
std::uint64_t arrive(std::size_t bytes, std::uint64_t count, bool polling) {
    const Plan plan{.bytes = bytes, .polling = polling, .processes = false, .apart = false};
    RingChannel<Bell> ring(plan);
    std::jthread sender([&] {
        typename RingChannel<Bell>::End end(ring, Side::asker);
        Messages messages(Side::asker, bytes);
        for (std::uint64_t number = 1; number <= count; ++number) { end.send(messages.stamped(number)); }
    });
    typename RingChannel<Bell>::End end(ring, Side::answerer);
    Messages messages(Side::answerer, bytes);
    std::uint64_t whole = 0;
    for (std::uint64_t number = 1; number <= count; ++number) {
        end.receive(messages.in());
        if (messages.received(number) && messages.received_whole(number)) { ++whole; }
    }
    return whole;
}

}  // namespace

TEST_CASE("a message of any length shows another number and any damage") {
    for (const std::size_t bytes :
         std::initializer_list<std::size_t>{1, 2, 7, 8, 9, 15, 16, 17, 4096, 4104, 5000, 20'000}) {
        CAPTURE(bytes);
        Messages here(Side::asker, bytes);
        Messages there(Side::answerer, bytes);
        const auto message = here.stamped(5);
        REQUIRE(message.size() == bytes);
        std::ranges::copy(message, there.in().begin());
        CHECK(there.received(5));
        CHECK(there.received_whole(5));
        CHECK_FALSE(there.received(6));
        CHECK_FALSE(there.received_whole(4));
        for (std::size_t at = 0; at < bytes; at += bytes > 20 ? 13 : 1) {
            there.in()[at] ^= std::byte{64};
            CHECK_FALSE(there.received_whole(5));
            there.in()[at] ^= std::byte{64};
        }
        if (bytes > 8 && bytes < 16) { continue; }  // one stamp, at the begin
        there.in().back() ^= std::byte{1};
        CHECK_FALSE(there.received(5));
    }
}

TEST_CASE("one's own message is no answer") {
    Messages here(Side::asker, 64);
    std::ranges::copy(here.stamped(1), here.in().begin());
    CHECK_FALSE(here.received(1));
    CHECK_FALSE(here.received_whole(1));
}

TEST_CASE("each page of a long message shows that it is old") {
    Messages here(Side::asker, 20'000);
    Messages there(Side::answerer, 20'000);
    std::ranges::copy(here.stamped(2), there.in().begin());
    for (std::size_t page = 0; page < 20'000; page += stamp_every) {
        const auto fresh = here.stamped(4);
        std::vector<std::byte> torn(fresh.begin(), fresh.end());
        std::ranges::copy(there.in().subspan(page, 8), torn.begin() + static_cast<std::ptrdiff_t>(page));
        CHECK_FALSE(has_stamps(torn, stamp_of(Side::asker, 4)));
    }
}

TEST_CASE("a ring hands over messages of any length, in order, many times around") {
    for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 8, 56, 57, 64, 5000, most_in_slot,
                                                                      most_in_slot + 1, 300'000}) {
        CAPTURE(bytes);
        const std::uint64_t count = bytes < 10'000 ? 500 : 30;
        CHECK(arrive<NoBell>(bytes, count, true) == count);
        CHECK(arrive<FutexBell>(bytes, count, false) == count);
        CHECK(arrive<FutexBell>(bytes, count, true) == count);
        CHECK(arrive<EventfdBell>(bytes, count, false) == count);
        CHECK(arrive<SemaphoreBell>(bytes, count, false) == count);
    }
}

TEST_CASE("what two Unix sockets hold is what they take before they refuse, and they are empty again") {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
        for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 64, 4096, 200'000}) {
            CAPTURE(type);
            CAPTURE(bytes);
            const SocketPair sockets = socket_pair(type);
            const std::uint64_t held = messages_that_fit(sockets, bytes);
            const std::vector<std::byte> message(std::min<std::size_t>(bytes, 65'536));
            std::uint64_t sent = 0;
            for (ssize_t went = 0; went >= 0; sent += went > 0 ? static_cast<std::uint64_t>(went) : 0) {
                went = ::send(sockets[0].get(), message.data(), message.size(), MSG_DONTWAIT);
            }
            CHECK(held == std::max<std::uint64_t>(1, sent / bytes));
        }
    }
}

TEST_CASE("few bytes are copied, and no other ones touched") {
    for (std::size_t bytes = 0; bytes <= 70; ++bytes) {
        CAPTURE(bytes);
        const std::vector<std::byte> from = pattern_of(Side::asker, bytes);
        const std::vector<std::byte> rest = pattern_of(Side::answerer, 80);
        std::vector<std::byte> to = rest;
        copy_bytes(to.data() + 4, from.data(), bytes);
        CHECK(std::equal(from.begin(), from.end(), to.begin() + 4));
        std::copy_n(rest.begin() + 4, bytes, to.begin() + 4);
        CHECK(to == rest);
    }
}

TEST_CASE("a message of up to 56 bytes lies in one line") {
    const RingShape small(56);
    CHECK(small.stride == line_bytes);
    CHECK(small.payload + 8 <= 64);
    CHECK(RingShape(1 << 20).payload == most_in_slot);
    for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 64, 4096, 1 << 20U}) {
        const std::size_t slots = RingShape(bytes).slots;
        CHECK((slots & (slots - 1)) == 0);
        CHECK(slots >= 8);
    }
}
