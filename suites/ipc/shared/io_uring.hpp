// A socket through a ring of io_uring of its own.
#pragma once

#include "one_thread_ring.hpp"
#include "sockets.hpp"

#include <liburing.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace toll::ipc {

/// How a side is told what has ended: the kernel's choice, the same for both sides.
[[nodiscard]] inline Footing ring_footing(const Plan& plan) {
    return {{"completions", OneThreadRing(1, plan.polling).completions()}};
}

/// One request at a time, as a channel with send() and receive() has it: each is one system call, which
/// submits it and waits for it. Who polls submits it, looks for its end in the ring, and enters the kernel
/// where a flag there says that it has work to do for that.
class UringSocket {
public:
    UringSocket(int socket, const Plan& plan) : socket_(socket), plan_(plan), ring_(8, plan.polling) {}

    ssize_t send(const std::byte* from, std::size_t size) {
        io_uring_sqe* const entry = ::io_uring_get_sqe(ring_.get());
        ::io_uring_prep_send(entry, socket_, from, size, MSG_NOSIGNAL | MSG_WAITALL);
        return finished();
    }
    ssize_t receive(std::byte* to, std::size_t size) {
        io_uring_sqe* const entry = ::io_uring_get_sqe(ring_.get());
        ::io_uring_prep_recv(entry, socket_, to, size, MSG_WAITALL);
        return finished();
    }

    /// One message with its parts, of which a datagram is one.
    ssize_t send(const msghdr& message) {
        ::io_uring_prep_sendmsg(::io_uring_get_sqe(ring_.get()), socket_, &message, MSG_NOSIGNAL);
        return finished();
    }
    ssize_t receive(msghdr& message) {
        ::io_uring_prep_recvmsg(::io_uring_get_sqe(ring_.get()), socket_, &message, 0);
        return finished();
    }

private:
    /// As read(2) returns.
    ssize_t finished() {
        io_uring_cqe* done = nullptr;
        int error = 0;
        if (plan_.polling) {
            error = ::io_uring_submit(ring_.get());
            while (error >= 0 && done == nullptr) {
                error = ::io_uring_peek_cqe(ring_.get(), &done);
                if (error == -EAGAIN || error == -EINTR) {
                    error = 0;
                    plan_.relax();
                }
            }
        } else {
            do { error = ::io_uring_submit_and_wait(ring_.get(), 1); } while (error == -EINTR);
            if (error >= 0) {
                do { error = ::io_uring_wait_cqe(ring_.get(), &done); } while (error == -EINTR);
            }
        }
        if (error < 0) { throw std::system_error(-error, std::generic_category(), "io_uring"); }
        const int result = done->res;
        ::io_uring_cqe_seen(ring_.get(), done);
        if (result < 0) { errno = -result; }
        return result < 0 ? -1 : result;
    }

    int socket_;
    Plan plan_;
    OneThreadRing ring_;
};

}  // namespace toll::ipc
