// ZeroMQ's exclusive pair of sockets.
#pragma once

#include "ipc_channel.hpp"

#include <zmq.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>

namespace toll::ipc {

/// Throws where a call of the library said -1; a signal's handler may have interrupted it.
inline void check_zeromq(int result, const char* call) {
    if (result < 0) { throw std::runtime_error(std::string(call) + ": " + ::zmq_strerror(::zmq_errno())); }
}

/// A socket of type PAIR in `context`: the asker's waits for the answerer's.
class ZeromqSocket {
public:
    ZeromqSocket(void* context, const std::string& where, Side side, const Plan& plan)
        : plan_(plan), socket_(::zmq_socket(context, ZMQ_PAIR)), flags_(plan.polling ? ZMQ_DONTWAIT : 0) {
        if (socket_ == nullptr) { check_zeromq(-1, "zmq_socket"); }
        const int none = 0;
        ::zmq_setsockopt(socket_, ZMQ_LINGER, &none, sizeof none);
        const int most = most_waiting(plan);
        check_zeromq(::zmq_setsockopt(socket_, ZMQ_SNDHWM, &most, sizeof most), "ZMQ_SNDHWM");
        check_zeromq(::zmq_setsockopt(socket_, ZMQ_RCVHWM, &most, sizeof most), "ZMQ_RCVHWM");
        if (side == Side::asker) {
            check_zeromq(::zmq_bind(socket_, where.c_str()), "zmq_bind");
        } else {
            check_zeromq(::zmq_connect(socket_, where.c_str()), "zmq_connect");
        }
    }
    ZeromqSocket(const ZeromqSocket&) = delete;
    ZeromqSocket& operator=(const ZeromqSocket&) = delete;
    ~ZeromqSocket() { ::zmq_close(socket_); }

    /// The library's own limit of 1,000 messages, but of long ones at most 4 MiB: a gigabyte of messages on
    /// their way would measure memory.
    static int most_waiting(const Plan& plan) noexcept {
        return static_cast<int>(std::clamp<std::size_t>((std::size_t{4} << 20U) / plan.bytes, 1, 1000));
    }

    void send(std::span<const std::byte> message) {
        while (::zmq_send(socket_, message.data(), message.size(), flags_) < 0) { check_again("zmq_send"); }
    }
    void receive(std::span<std::byte> message) {
        int came = 0;
        while ((came = ::zmq_recv(socket_, message.data(), message.size(), flags_)) < 0) {
            check_again("zmq_recv");
        }
        if (static_cast<std::size_t>(came) != message.size()) {
            throw std::runtime_error("zmq_recv: a message of another length");
        }
    }

private:
    void check_again(const char* call) const {
        if (::zmq_errno() != EAGAIN && ::zmq_errno() != EINTR) { check_zeromq(-1, call); }
        plan_.relax();
    }
    Plan plan_;
    void* socket_;
    int flags_;
};

/// A context, which has the library's own threads.
class ZeromqContext {
public:
    ZeromqContext() : context_(::zmq_ctx_new()) {
        if (context_ == nullptr) { check_zeromq(-1, "zmq_ctx_new"); }
    }
    ZeromqContext(const ZeromqContext&) = delete;
    ZeromqContext& operator=(const ZeromqContext&) = delete;
    ~ZeromqContext() { ::zmq_ctx_term(context_); }
    [[nodiscard]] void* get() const noexcept { return context_; }

private:
    void* context_;
};

}  // namespace toll::ipc
