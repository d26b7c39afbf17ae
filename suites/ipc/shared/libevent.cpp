#include "both.hpp"
#include "sockets.hpp"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include <memory>
#include <stdexcept>

/// Each side has a loop with one buffered connection over TCP, whose callback says that a message is there:
/// it is called once there are as many bytes.
class Libevent {
public:
    static constexpr double copies = 4;  // into a buffer, into the kernel, out of it, out of the buffer

    explicit Libevent(const toll::ipc::Plan& plan) : plan_(plan), sockets_(toll::ipc::connected_tcp()) {}

    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        return toll::ipc::messages_in_buffers(sockets_, plan_.bytes);
    }

    class End {
    public:
        End(const Libevent& channel, toll::ipc::Side side)
            : plan_(channel.plan_),
              base_(::event_base_new(), &::event_base_free),
              connection_(made(base_.get(), channel.sockets_[index_of(side)].get()), &::bufferevent_free) {
            ::bufferevent_setcb(connection_.get(), arrived, nullptr, ended, this);
            ::bufferevent_setwatermark(connection_.get(), EV_READ, plan_.bytes, 0);
            ::bufferevent_enable(connection_.get(), EV_READ | EV_WRITE);
        }
        End(const End&) = delete;
        End& operator=(const End&) = delete;

        void send(std::span<const std::byte> message) {
            ::bufferevent_write(connection_.get(), message.data(), message.size());
            // What is to be sent goes out in the loop, at the latest where much of it has come together.
            while (waiting_to_go() > std::max(most_waiting, plan_.bytes)) { turn(); }
        }
        void receive(std::span<std::byte> message) {
            while (::evbuffer_get_length(input()) < message.size()) { turn(); }
            ::evbuffer_remove(input(), message.data(), message.size());
        }
        void flush() {
            while (waiting_to_go() > 0) { turn(); }
        }

    private:
        static constexpr std::size_t most_waiting = std::size_t{64} * 1024;

        static bufferevent* made(event_base* base, int socket) {
            toll::ipc::set_non_blocking(socket);
            bufferevent* const connection =
                base == nullptr ? nullptr : ::bufferevent_socket_new(base, socket, 0);
            if (connection == nullptr) { throw std::runtime_error("libevent made no connection"); }
            return connection;
        }
        static void arrived(bufferevent* connection, void*) {
            ::event_base_loopbreak(::bufferevent_get_base(connection));
        }
        static void ended(bufferevent* connection, short, void* end) {
            static_cast<End*>(end)->ended_ = true;
            ::event_base_loopbreak(::bufferevent_get_base(connection));
        }
        void turn() {
            ::event_base_loop(base_.get(), EVLOOP_ONCE | (plan_.polling ? EVLOOP_NONBLOCK : 0));
            if (ended_) { throw std::runtime_error("libevent: the other end is closed"); }
        }
        [[nodiscard]] evbuffer* input() const { return ::bufferevent_get_input(connection_.get()); }
        [[nodiscard]] std::size_t waiting_to_go() const {
            return ::evbuffer_get_length(::bufferevent_get_output(connection_.get()));
        }

        toll::ipc::Plan plan_;
        std::unique_ptr<event_base, decltype(&::event_base_free)> base_;
        std::unique_ptr<bufferevent, decltype(&::bufferevent_free)> connection_;
        bool ended_ = false;
    };

private:
    toll::ipc::Plan plan_;
    toll::ipc::SocketPair sockets_;
};

TOLL_IPC_CONTENDER(libevent, Libevent);
