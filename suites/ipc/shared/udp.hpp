// UDP on loopback. It drops what finds no room, so that each side says how far it has come.
#pragma once

#include "sockets.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>

namespace toll::ipc {

/// Repeats `call()` until it moved a datagram, and returns its length. `again()` as of transfer_all().
template <class Call, class Again>
std::size_t transfer_datagram(const char* name, Call call, Again again) {
    for (;;) {
        const ssize_t moved = call();
        if (moved >= 0) [[likely]] { return static_cast<std::size_t>(moved); }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            again();
        } else if (errno != EINTR) {
            check_call(moved, name);
        }
    }
}

/// A datagram a system call, and a way to wait for it.
template <class Waiting>
class CalledDatagrams {
public:
    CalledDatagrams(int socket, const Plan& plan) : socket_(socket), waiting_(socket, plan) {}

    void send(const msghdr& datagram) {
        const auto send = [&] { return ::sendmsg(socket_, &datagram, MSG_NOSIGNAL | waiting_.flags); };
        transfer_datagram("sendmsg", send, [this] { waiting_.await(true); });
    }
    std::size_t receive(msghdr& datagram) {
        if constexpr (Waiting::asks_first) { waiting_.await(false); }
        const auto receive = [&] { return ::recvmsg(socket_, &datagram, waiting_.flags); };
        return transfer_datagram("recvmsg", receive, [this] { waiting_.await(false); });
    }

private:
    int socket_;
    Waiting waiting_;
};

/// Datagrams of up to 32 KiB with a head of two numbers: of this datagram, and of how many the sender has
/// received itself. So an answer acknowledges its question; who only receives sends a bare head each half of
/// the window. A number that is missing is an error: within the window nothing is dropped on loopback.
/// `Datagrams` has send() and receive() of one each, as above; a side makes its own.
template <class Datagrams>
class UdpChannel {
public:
    static constexpr double copies = 2;  // into the kernel and out of it

    explicit UdpChannel(const Plan& plan) : plan_(plan), sockets_(connected_datagram(Address::loopback())) {
        for (const OwnedDescriptor& socket : sockets_) {
            const int room = 1 << 20;  // the kernel gives what it allows: twice rmem_max, mostly 416 KiB
            check_call(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room), "setsockopt");
        }
    }

    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        return std::max<std::uint64_t>(1, window(plan_) / ((plan_.bytes + most - 1) / most));
    }

    [[nodiscard]] Footing footing() const
        requires requires(const Plan& plan) { Datagrams::footing(plan); }
    {
        return Datagrams::footing(plan_);
    }

    class End {
    public:
        End(const UdpChannel& channel, Side side)
            : datagrams_(channel.sockets_[index_of(side)].get(), channel.plan_),
              window_(window(channel.plan_)) {}

        void send(std::span<const std::byte> message) {
            in_parts(message, most, [this](std::span<const std::byte> part) {
                while (sent_ - acknowledged_ >= window_) { take({}); }
                put(part);
            });
        }
        void receive(std::span<std::byte> message) {
            in_parts(message, most, [this](std::span<std::byte> part) {
                while (!take(part)) {}
                if (received_ - told_ >= (window_ + 1) / 2) { put({}); }
            });
        }

    private:
        struct Head {
            std::uint32_t number;  ///< of this datagram among those with bytes; of a bare head the last one's
            std::uint32_t received;  ///< by who sends it
        };

        void put(std::span<const std::byte> part) {
            if (!part.empty()) { ++sent_; }
            told_ = received_;
            Head head{sent_, received_};
            std::array<iovec, 2> pieces{
                {{&head, sizeof head}, {const_cast<std::byte*>(part.data()), part.size()}}};
            msghdr whole{};
            whole.msg_iov = pieces.data();
            whole.msg_iovlen = part.empty() ? 1 : 2;
            datagrams_.send(whole);
        }

        /// One datagram; whether it had bytes, which are then all of `part`.
        bool take(std::span<std::byte> part) {
            Head head{};
            std::array<iovec, 2> pieces{{{&head, sizeof head}, {part.data(), part.size()}}};
            msghdr whole{};
            whole.msg_iov = pieces.data();
            whole.msg_iovlen = pieces.size();
            const std::size_t came = datagrams_.receive(whole);
            acknowledged_ = head.received;
            if (came == sizeof head) { return false; }
            if (head.number != ++received_ || came != sizeof head + part.size()) {
                throw std::runtime_error("a datagram was lost, or came out of turn");
            }
            return true;
        }

        Datagrams datagrams_;
        std::uint32_t window_;
        std::uint32_t sent_ = 0;
        std::uint32_t acknowledged_ = 0;
        std::uint32_t received_ = 0;
        std::uint32_t told_ = 0;
    };

private:
    static constexpr std::size_t most = std::size_t{32} * 1024;

    /// How many datagrams may be under way: a quarter of the room, as each takes more of it than its bytes.
    static std::uint32_t window(const Plan& plan) noexcept {
        return std::clamp<std::uint32_t>(
            static_cast<std::uint32_t>(std::size_t{100} * 1024 / (std::min(plan.bytes, most) + 1024)), 3, 64);
    }

    Plan plan_;
    SocketPair sockets_;
};

}  // namespace toll::ipc
