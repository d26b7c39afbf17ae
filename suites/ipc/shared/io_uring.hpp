// A socket through a ring of io_uring of its own.
#pragma once

#include "sockets.hpp"

#include <liburing.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace toll::ipc {

/// One request at a time, as a channel with send() and receive() has it: each is one system call, which
/// submits it and waits for it. Who polls submits it, looks for its end in the ring, and enters the kernel
/// where a flag there says that it has work to do for that. Else the kernel would interrupt the CPU of who
/// polls for each message, which costs a multiple of the rest in a virtual machine.
class UringSocket {
public:
    UringSocket(int socket, const Plan& plan) : socket_(socket), plan_(plan) {
        int error = ::io_uring_queue_init(8, &ring_, plan.polling ? polls : waits);
        if (error == -EINVAL) { error = ::io_uring_queue_init(8, &ring_, 0); }
        if (error < 0) {
            throw Unsupported(std::string("io_uring_queue_init: ") + std::generic_category().message(-error) +
                              " (kernel.io_uring_disabled?)");
        }
    }
    UringSocket(const UringSocket&) = delete;
    UringSocket& operator=(const UringSocket&) = delete;
    ~UringSocket() { ::io_uring_queue_exit(&ring_); }

    ssize_t send(const std::byte* from, std::size_t size) {
        io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
        ::io_uring_prep_send(entry, socket_, from, size, MSG_NOSIGNAL | MSG_WAITALL);
        return finished();
    }
    ssize_t receive(std::byte* to, std::size_t size) {
        io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
        ::io_uring_prep_recv(entry, socket_, to, size, MSG_WAITALL);
        return finished();
    }

    /// One message with its parts, of which a datagram is one.
    ssize_t send(const msghdr& message) {
        ::io_uring_prep_sendmsg(::io_uring_get_sqe(&ring_), socket_, &message, MSG_NOSIGNAL);
        return finished();
    }
    ssize_t receive(msghdr& message) {
        ::io_uring_prep_recvmsg(::io_uring_get_sqe(&ring_), socket_, &message, 0);
        return finished();
    }

private:
    // The thread that makes the ring alone uses it, and work is done where it waits: Linux 6.1. In the
    // kernel's header since 6.0 and 6.1; liburing 2.3 has them, older ones do not.
    static constexpr unsigned single_issuer = 1U << 12U;
    static constexpr unsigned defer_taskrun = 1U << 13U;
    static constexpr unsigned waits = single_issuer | defer_taskrun;
#ifdef IORING_SETUP_TASKRUN_FLAG  // liburing 2.2, from which on io_uring_peek_cqe() sees it
    static constexpr unsigned polls = waits | IORING_SETUP_TASKRUN_FLAG;
#else
    static constexpr unsigned polls = 0;
#endif

    /// As read(2) returns.
    ssize_t finished() {
        io_uring_cqe* done = nullptr;
        int error = 0;
        if (plan_.polling) {
            error = ::io_uring_submit(&ring_);
            while (error >= 0 && done == nullptr) {
                error = ::io_uring_peek_cqe(&ring_, &done);
                if (error == -EAGAIN || error == -EINTR) {
                    error = 0;
                    plan_.relax();
                }
            }
        } else {
            do { error = ::io_uring_submit_and_wait(&ring_, 1); } while (error == -EINTR);
            if (error >= 0) {
                do { error = ::io_uring_wait_cqe(&ring_, &done); } while (error == -EINTR);
            }
        }
        if (error < 0) { throw std::system_error(-error, std::generic_category(), "io_uring"); }
        const int result = done->res;
        ::io_uring_cqe_seen(&ring_, done);
        if (result < 0) { errno = -result; }
        return result < 0 ? -1 : result;
    }

    int socket_;
    Plan plan_;
    io_uring ring_{};
};

}  // namespace toll::ipc
