#include "both.hpp"
#include "shared_memory.hpp"
#include "sockets.hpp"

#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>

#include <algorithm>
#include <stdexcept>
#include <string>

/// A pair of nng over a Unix socket whose name is in no folder; the library's threads read and write.
struct NngIpc {
    static constexpr double copies = 4;  // into a message, into the kernel, out of it, out of the message
    static constexpr std::size_t carriers = 1;      // its poller at least: its pool of threads has several
    static constexpr bool once_per_process = true;  // nng: "not safe to use after fork() by the child"

    explicit NngIpc(const toll::ipc::Plan& its_plan)
        : plan(its_plan), where("abstract://" + toll::ipc::new_name()) {}

    static void check(int result, const char* call) {
        if (result != 0) { throw std::runtime_error(std::string(call) + ": " + ::nng_strerror(result)); }
    }

    /// Messages that may wait in a socket, on either side. A pair has no such room unless it is asked for:
    /// each send would wait until a thread of the library had written the message before. As many as the
    /// library's own measurement of throughput has, but of long ones at most 4 MiB.
    static int most_waiting(const toll::ipc::Plan& plan) noexcept {
        return static_cast<int>(std::clamp<std::size_t>((std::size_t{4} << 20U) / plan.bytes, 1, 128));
    }
    /// What waits in the two sockets, and what two Unix sockets hold by default, as the library shows neither
    /// of its own.
    [[nodiscard]] std::uint64_t messages_held() const {
        return 2 * static_cast<std::uint64_t>(most_waiting(plan)) +
               toll::ipc::messages_that_fit(toll::ipc::socket_pair(SOCK_STREAM), plan.bytes);
    }

    struct End {
        End(const NngIpc& channel, toll::ipc::Side side)
            : plan(channel.plan), flags(plan.polling ? NNG_FLAG_NONBLOCK : 0) {
            check(::nng_pair0_open(&socket), "nng_pair0_open");
            // 1 MiB is the usual limit of what comes in; 0 is none.
            check(::nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, 0), "nng_socket_set_size");
            for (const char* const room : {NNG_OPT_SENDBUF, NNG_OPT_RECVBUF}) {
                check(::nng_socket_set_int(socket, room, most_waiting(plan)), "nng_socket_set_int");
            }
            if (side == toll::ipc::Side::asker) {
                check(::nng_listen(socket, channel.where.c_str(), nullptr, 0), "nng_listen");
            } else {
                // The other side may listen a moment later: the library tries again by itself.
                check(::nng_dial(socket, channel.where.c_str(), nullptr, NNG_FLAG_NONBLOCK), "nng_dial");
            }
        }
        End(const End&) = delete;
        End& operator=(const End&) = delete;
        ~End() { ::nng_close(socket); }

        void send(std::span<const std::byte> message) {
            for (;;) {
                const int done =
                    ::nng_send(socket, const_cast<std::byte*>(message.data()), message.size(), flags);
                if (done == 0) { return; }
                if (done != NNG_EAGAIN) { check(done, "nng_send"); }
                plan.relax();
            }
        }
        void receive(std::span<std::byte> message) {
            for (;;) {
                std::size_t size = message.size();
                const int done = ::nng_recv(socket, message.data(), &size, flags);
                if (done == 0 && size != message.size()) {
                    throw std::runtime_error("nng_recv: a message of another length");
                }
                if (done == 0) { return; }
                if (done != NNG_EAGAIN) { check(done, "nng_recv"); }
                plan.relax();
            }
        }

        toll::ipc::Plan plan;
        nng_socket socket{};
        int flags;
    };

    toll::ipc::Plan plan;
    std::string where;
};

TOLL_IPC_CONTENDER(nng_ipc, NngIpc);
