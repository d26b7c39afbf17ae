// Connected sockets, and the ways to wait for one.
#pragma once

#include "descriptors.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

namespace toll::ipc {

/// One for each side, connected with one another.
using SocketPair = std::array<OwnedDescriptor, 2>;

inline SocketPair socket_pair(int type) {
    std::array<int, 2> ends{-1, -1};
    check_call(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()), "socketpair");
    return {OwnedDescriptor{ends[0], "socketpair"}, OwnedDescriptor{ends[1], "socketpair"}};
}

/// A socket address of any family.
struct Address {
    union {
        sockaddr any;
        sockaddr_in internet;
        sockaddr_un local;
    };
    socklen_t length;

    /// Port 0 is one that the kernel chooses.
    static Address loopback() {
        Address address{};
        address.internet.sin_family = AF_INET;
        address.internet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.length = sizeof address.internet;
        return address;
    }
    /// A name that the kernel chooses, in no folder: unix(7), autobind.
    static Address local_unnamed() {
        Address address{};
        address.local.sun_family = AF_UNIX;
        address.length = sizeof address.local.sun_family;
        return address;
    }
    static Address of(int socket) {
        Address address{};
        address.length = sizeof address.local;
        check_call(::getsockname(socket, &address.any, &address.length), "getsockname");
        return address;
    }
};

inline OwnedDescriptor new_socket(int family, int type) {
    return {::socket(family, type | SOCK_CLOEXEC, 0), "socket"};
}

inline void connect_to(const OwnedDescriptor& socket, const Address& address) {
    check_call(::connect(socket.get(), &address.any, address.length), "connect");
}

/// A connection through a listening socket at `where`, as of a client and its server.
inline SocketPair connected_stream(const Address& where) {
    const OwnedDescriptor listener = new_socket(where.any.sa_family, SOCK_STREAM);
    check_call(::bind(listener.get(), &where.any, where.length), "bind");
    check_call(::listen(listener.get(), 1), "listen");
    SocketPair pair;
    pair[1] = new_socket(where.any.sa_family, SOCK_STREAM);
    connect_to(pair[1], Address::of(listener.get()));
    pair[0] = {::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept4"};
    return pair;
}

/// As above on loopback, without the delay that waits for more to send.
inline SocketPair connected_tcp() {
    SocketPair pair = connected_stream(Address::loopback());
    for (const OwnedDescriptor& socket : pair) {
        const int on = 1;
        check_call(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "setsockopt");
    }
    return pair;
}

/// Two datagram sockets bound to `where` that send to each other alone.
inline SocketPair connected_datagram(const Address& where) {
    SocketPair pair;
    for (OwnedDescriptor& socket : pair) {
        socket = new_socket(where.any.sa_family, SOCK_DGRAM);
        check_call(::bind(socket.get(), &where.any, where.length), "bind");
    }
    connect_to(pair[0], Address::of(pair[1].get()));
    connect_to(pair[1], Address::of(pair[0].get()));
    return pair;
}

/// How many messages of `bytes`, in parts of at most `most`, two Unix sockets hold one way. Seen by filling
/// them, and emptying them again: the kernel counts what the buffers of a message take, against the send
/// buffer alone. Its limit of datagrams (net.unix.max_dgram_qlen) is not that of two that are connected with
/// each other.
inline std::uint64_t messages_that_fit(const SocketPair& sockets, std::size_t bytes,
                                       std::size_t most = std::size_t{64} * 1024) {
    std::vector<std::byte> part(std::min(bytes, most));
    std::uint64_t sent = 0;
    for (ssize_t went = 0; went >= 0; sent += static_cast<std::uint64_t>(went)) {
        went = ::send(sockets[0].get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (went < 0) { break; }
    }
    while (::recv(sockets[1].get(), part.data(), part.size(), MSG_DONTWAIT) > 0) {}
    return std::max<std::uint64_t>(1, sent / bytes);
}

/// Likewise of Internet sockets, by their buffers as they are made. They grow as they are used, up to 4 MiB
/// and more (tcp_wmem). The kernel takes more of them than the bytes: the head of each message's buffer
/// (skb).
inline std::uint64_t messages_in_buffers(const SocketPair& sockets, std::size_t bytes) noexcept {
    std::uint64_t room = 0;
    for (const int option : {SO_SNDBUF, SO_RCVBUF}) {
        int size = 0;
        socklen_t length = sizeof size;
        if (::getsockopt(sockets[option == SO_RCVBUF ? 1 : 0].get(), SOL_SOCKET, option, &size, &length) ==
            0) {
            room += static_cast<std::uint64_t>(size);
        }
    }
    constexpr std::uint64_t head = 704;
    return std::max<std::uint64_t>(1, room / (bytes + head));
}

/// The one or the other, by the family of `sockets`.
inline std::uint64_t messages_held_by(const SocketPair& sockets, std::size_t bytes) {
    return Address::of(sockets[0].get()).any.sa_family == AF_UNIX ? messages_that_fit(sockets, bytes)
                                                                  : messages_in_buffers(sockets, bytes);
}

/// How a side waits for its socket. A waiting has
///   Waiting(socket, plan)   made by the side itself, so that it may hold what is not inherited;
///   flags                   of send(2) and recv(2): MSG_DONTWAIT where it is not these that wait;
///   await(write)            until the socket can be read, or written.
class Blocks {
public:
    Blocks(int /*socket*/, const Plan& plan) : plan_(plan), flags(plan.polling ? MSG_DONTWAIT : 0) {}
    void await(bool /*write*/) const { plan_.relax(); }

private:
    Plan plan_;

public:
    static constexpr bool asks_first = false;
    int flags;
};

/// select(2), poll(2) and epoll(7) are asked for each message, as an event loop does.
class Selects {
public:
    static constexpr bool asks_first = true;
    static constexpr int flags = MSG_DONTWAIT;

    Selects(int socket, const Plan& plan) : socket_(socket), plan_(plan) {
        if (socket >= FD_SETSIZE) {
            throw std::runtime_error("select() cannot wait for so high a descriptor");
        }
    }
    void await(bool write) const {
        for (;;) {
            fd_set set;
            FD_ZERO(&set);
            FD_SET(socket_, &set);
            timeval none{0, 0};
            const int ready = ::select(socket_ + 1, write ? nullptr : &set, write ? &set : nullptr, nullptr,
                                       plan_.polling ? &none : nullptr);
            if (ready > 0) { return; }
            if (ready < 0 && errno != EINTR) { check_call(ready, "select"); }
            plan_.relax();
        }
    }

private:
    int socket_;
    Plan plan_;
};

class Polls {
public:
    static constexpr bool asks_first = true;
    static constexpr int flags = MSG_DONTWAIT;

    Polls(int socket, const Plan& plan) : socket_(socket), plan_(plan) {}
    void await(bool write) const {
        for (;;) {
            pollfd waiting{socket_, static_cast<short>(write ? POLLOUT : POLLIN), 0};
            const int ready = ::poll(&waiting, 1, plan_.polling ? 0 : -1);
            if (ready > 0) { return; }
            if (ready < 0 && errno != EINTR) { check_call(ready, "poll"); }
            plan_.relax();
        }
    }

private:
    int socket_;
    Plan plan_;
};

class EpollWaits {
public:
    static constexpr bool asks_first = true;
    static constexpr int flags = MSG_DONTWAIT;

    EpollWaits(int socket, const Plan& plan)
        : socket_(socket), plan_(plan), set_(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1") {
        epoll_event event{};
        event.events = EPOLLIN;
        check_call(::epoll_ctl(set_.get(), EPOLL_CTL_ADD, socket, &event), "epoll_ctl");
    }
    void await(bool write) {
        if (write) {  // seldom: the buffer is full
            pollfd full{socket_, POLLOUT, 0};
            (void)::poll(&full, 1, plan_.polling ? 0 : -1);
            return;
        }
        for (;;) {
            epoll_event event{};
            const int ready = ::epoll_wait(set_.get(), &event, 1, plan_.polling ? 0 : -1);
            if (ready > 0) { return; }
            if (ready < 0 && errno != EINTR) { check_call(ready, "epoll_wait"); }
            plan_.relax();
        }
    }

private:
    int socket_;
    Plan plan_;
    OwnedDescriptor set_;
};

/// Messages of known length through a stream.
template <class Waiting>
class StreamEnd {
public:
    StreamEnd(int socket, const Plan& plan) : socket_(socket), waiting_(socket, plan) {}

    void send(std::span<const std::byte> message) {
        const auto send = [this](const std::byte* from, std::size_t size) {
            return ::send(socket_, from, size, MSG_NOSIGNAL | waiting_.flags);
        };
        transfer_all(message, "send", send, [this] { waiting_.await(true); });
    }
    void receive(std::span<std::byte> message) {
        if constexpr (Waiting::asks_first) { waiting_.await(false); }
        const auto receive = [this](std::byte* to, std::size_t size) {
            return ::recv(socket_, to, size, waiting_.flags == 0 ? MSG_WAITALL : waiting_.flags);
        };
        transfer_all(message, "recv", receive, [this] { waiting_.await(false); });
    }

private:
    int socket_;
    Waiting waiting_;
};

/// A channel of a pair of stream sockets.
template <class Waiting, SocketPair (*connected)()>
class StreamChannel {
public:
    static constexpr double copies = 2;  // into the kernel and out of it
    explicit StreamChannel(const Plan& plan)
        : plan_(plan), sockets_(connected()), held_(messages_held_by(sockets_, plan.bytes)) {}
    [[nodiscard]] std::uint64_t messages_held() const noexcept { return held_; }

    class End : public StreamEnd<Waiting> {
    public:
        End(const StreamChannel& channel, Side side)
            : StreamEnd<Waiting>(channel.sockets_[index_of(side)].get(), channel.plan_) {}
    };

private:
    Plan plan_;
    SocketPair sockets_;
    std::uint64_t held_;
};

}  // namespace toll::ipc
