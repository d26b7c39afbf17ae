#include "loops.hpp"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

using toll::socket::Message;

/// A loop with a buffered connection each, whose callback comes once a message is there as a whole.
class Side {
public:
    /// `came(connection, message)`. The descriptors are the connections' from now on.
    Side(std::vector<toll::ipc::OwnedDescriptor> descriptors, toll::socket::Came came)
        : came_(std::move(came)), base_(made(), &::event_base_free), connections_(descriptors.size()) {
        for (unsigned i = 0; i < connections_.size(); ++i) {
            Connection& connection = connections_[i];
            connection.side = this;
            connection.number = i;
            connection.buffers.reset(
                ::bufferevent_socket_new(base_.get(), descriptors[i].get(), BEV_OPT_CLOSE_ON_FREE));
            if (connection.buffers == nullptr) { throw std::runtime_error("libevent made no connection"); }
            (void)descriptors[i].release();
            ::bufferevent_setcb(connection.buffers.get(), arrived, nullptr, ended, &connection);
            ::bufferevent_setwatermark(connection.buffers.get(), EV_READ, sizeof(Message), 0);
            ::bufferevent_enable(connection.buffers.get(), EV_READ | EV_WRITE);
        }
    }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;
    ~Side() = default;

    /// Until stop(), or until the other side has closed a connection.
    void run() {
        if (::event_base_dispatch(base_.get()) < 0) { throw std::runtime_error("libevent's loop failed"); }
    }
    void stop() { ::event_base_loopbreak(base_.get()); }

    void send(unsigned number, const Message& message) {
        ::bufferevent_write(connections_[number].buffers.get(), message.data(), sizeof message);
    }

private:
    struct Connection {
        Side* side = nullptr;
        unsigned number = 0;
        std::unique_ptr<bufferevent, decltype(&::bufferevent_free)> buffers{nullptr, &::bufferevent_free};
    };

    static event_base* made() {
        const std::unique_ptr<event_config, decltype(&::event_config_free)> config(::event_config_new(),
                                                                                   &::event_config_free);
        event_base* base = nullptr;
        if (config != nullptr && ::event_config_set_flag(config.get(), EVENT_BASE_FLAG_NOLOCK) == 0) {
            base = ::event_base_new_with_config(config.get());  // no other thread touches it
        }
        if (base == nullptr) { throw std::runtime_error("libevent made no loop"); }
        return base;
    }

    static void arrived(bufferevent* buffers, void* argument) {
        const Connection& connection = *static_cast<const Connection*>(argument);
        evbuffer* const input = ::bufferevent_get_input(buffers);
        Message message;
        while (::evbuffer_get_length(input) >= sizeof message) {
            ::evbuffer_remove(input, message.data(), sizeof message);
            connection.side->came_(connection.number, message);
        }
    }
    /// Closed or broken: there is nothing left to wait for once one is.
    static void ended(bufferevent*, short, void* argument) {
        static_cast<const Connection*>(argument)->side->stop();
    }

    toll::socket::Came came_;
    std::unique_ptr<event_base, decltype(&::event_base_free)> base_;
    std::vector<Connection> connections_;
};

}  // namespace

using Libevent = toll::socket::Loops<Side>;

TOLL_CONTENDER(socket, libevent, Libevent);
