// Contenders of ipc that go wrong in the ways that channels do; test_faults.py looks at what becomes of each.
#include "shared/both.hpp"
#include "shared/ring.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

namespace {

using toll::ipc::NoBell;
using toll::ipc::Plan;
using toll::ipc::RingChannel;
using toll::ipc::Side;

/// A ring in which something befalls the answerer at its fifth message, which is the first that counts.
template <class Fault>
struct Faulty {
    static constexpr double copies = 2;
    static constexpr bool never_sleeps = true;
    static constexpr unsigned most_looks = 3;

    explicit Faulty(const Plan& plan) : ring(plan) {}

    struct End {
        End(Faulty& channel, Side its_side) : end(channel.ring, its_side), side(its_side) {}
        void send(std::span<const std::byte> message) { end.send(message); }
        void receive(std::span<std::byte> message) {
            end.receive(message);
            if (side == Side::answerer && ++received == 5) { Fault::befall(message); }
        }
        RingChannel<NoBell>::End end;
        Side side;
        int received = 0;
    };

    RingChannel<NoBell> ring;
};

struct None {
    static void befall(std::span<std::byte>) {}
};
struct FlipsFirst {
    static void befall(std::span<std::byte> message) { message.front() ^= std::byte{1}; }
};
struct FlipsLast {
    static void befall(std::span<std::byte> message) { message.back() ^= std::byte{1}; }
};
/// Between two stamps, where the look at each message does not see it.
struct FlipsInside {
    static void befall(std::span<std::byte> message) { message[message.size() / 2 + 9] ^= std::byte{1}; }
};
struct Dies {
    static void befall(std::span<std::byte>) { ::raise(SIGKILL); }
};
struct Hangs {
    static void befall(std::span<std::byte>) { std::this_thread::sleep_for(std::chrono::hours(1)); }
};
struct Throws {
    static void befall(std::span<std::byte>) { throw std::runtime_error("this channel broke"); }
};

/// Its answerer computes for a while, which its asker sleeps through.
struct Burns {
    static constexpr double copies = 2;
    using Channel = RingChannel<toll::ipc::FutexBell>;
    explicit Burns(const Plan& plan) : ring(plan) {}

    struct End {
        End(Burns& channel, Side its_side) : end(channel.ring, its_side), side(its_side) {}
        void send(std::span<const std::byte> message) { end.send(message); }
        void receive(std::span<std::byte> message) {
            end.receive(message);
            if (side == Side::asker) { return; }
            const auto used_ns = [] { return toll::Resources::at_stop(toll::Scope::thread).cpu_ns; };
            for (const auto begin = used_ns(); used_ns() - begin < 20'000'000;) {}
        }
        Channel::End end;
        Side side;
    };

    Channel ring;
};

/// It polls, and does not say so.
struct Spins {
    static constexpr double copies = 2;
    explicit Spins(const Plan& plan) : ring(plan) {}
    struct End : RingChannel<NoBell>::End {
        End(Spins& channel, Side side) : RingChannel<NoBell>::End(channel.ring, side) {}
    };
    RingChannel<NoBell> ring;
};

/// A library with a thread of its own on each side, through which its messages would go.
template <std::size_t of_each_side>
struct Helped : RingChannel<toll::ipc::FutexBell> {
    using RingChannel::RingChannel;
    static constexpr std::size_t carriers = of_each_side;
    struct End : RingChannel::End {
        End(Helped& channel, Side side)
            : RingChannel::End(channel, side), helper([this] { left.wait(false); }) {}
        End(const End&) = delete;
        End& operator=(const End&) = delete;
        ~End() {
            left = true;
            left.notify_one();
        }
        std::atomic<bool> left{false};
        std::jthread helper;
    };
};

/// Its asker fails, and so does its answerer, once the asker is gone.
struct AskerThrows {
    static constexpr double copies = 2;
    static constexpr bool never_sleeps = true;
    explicit AskerThrows(const Plan& plan) : ring(plan) {}

    struct End {
        End(AskerThrows& its_channel, Side its_side)
            : channel(its_channel), end(its_channel.ring, its_side), side(its_side) {}
        End(const End&) = delete;
        End& operator=(const End&) = delete;
        ~End() {
            if (side == Side::answerer) { return; }
            *channel.gone = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the answerer fails meanwhile
        }
        void send(std::span<const std::byte> message) { end.send(message); }
        void receive(std::span<std::byte> message) {
            if (side == Side::asker && ++received == 6) { throw std::runtime_error("the asker broke"); }
            if (side == Side::answerer && ++received == 6) {
                while (!*channel.gone) {}
                throw std::runtime_error("the other end is closed");
            }
            end.receive(message);
        }
        AskerThrows& channel;
        RingChannel<NoBell>::End end;
        Side side;
        int received = 0;
    };

    RingChannel<NoBell> ring;
    toll::ipc::Shared<std::atomic<bool>> gone{false};
};

/// Tells how much it holds.
struct Holds : Faulty<None> {
    using Faulty::Faulty;
    static constexpr std::uint64_t messages_held() noexcept { return 10; }
};

/// Says that it was asked to leave nothing.
template <class Fault>
struct Removes : Faulty<Fault> {
    using Faulty<Fault>::Faulty;
    static void leave_nothing() noexcept { (void)!::write(STDERR_FILENO, "removed\n", 8); }
};

/// What the answerer's side of it cannot have.
template <class Error>
struct Refused {
    static constexpr double copies = 2;
    static constexpr bool never_sleeps = true;
    explicit Refused(const Plan&) {}
    struct End {
        End(Refused&, Side side) {
            if (side == Side::answerer) { throw Error("no such end here"); }
        }
        static void send(std::span<const std::byte>) {}
        static void receive(std::span<std::byte>) {}
    };
};

}  // namespace

TOLL_IPC_CONTENDER(right, Faulty<None>);
TOLL_IPC_CONTENDER(flips_first, Faulty<FlipsFirst>);
TOLL_IPC_CONTENDER(flips_last, Faulty<FlipsLast>);
TOLL_IPC_CONTENDER(flips_inside, Faulty<FlipsInside>);
TOLL_IPC_CONTENDER(dies, Faulty<Dies>);
TOLL_IPC_CONTENDER(hangs, Faulty<Hangs>);
TOLL_IPC_CONTENDER(throws, Faulty<Throws>);
TOLL_IPC_CONTENDER(burns, Burns);
TOLL_IPC_CONTENDER(spins, Spins);
TOLL_IPC_CONTENDER(helped, Helped<1>);
TOLL_IPC_CONTENDER(carried, Helped<1000>);
TOLL_IPC_CONTENDER(asker_throws, AskerThrows);
TOLL_IPC_CONTENDER(holds, Holds);
TOLL_IPC_CONTENDER(removes_dies, Removes<Dies>);
TOLL_IPC_CONTENDER(removes_throws, Removes<Throws>);
TOLL_IPC_CONTENDER(refused, Refused<toll::Unsupported>);
TOLL_IPC_CONTENDER(failed, Refused<std::runtime_error>);
