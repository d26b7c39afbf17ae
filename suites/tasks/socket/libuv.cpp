#include "loops.hpp"

#include <uv.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using toll::socket::Message;

void check(int error, const char* what) {
    if (error < 0) { throw std::runtime_error(std::string(what) + ": " + ::uv_strerror(error)); }
}

/// A loop with its connections, of which each message is handed on once it is whole.
class Side {
public:
    /// `came(connection, message)`. The descriptors are the loop's from now on.
    Side(std::vector<toll::ipc::OwnedDescriptor> descriptors, toll::socket::Came came)
        : came_(std::move(came)), connections_(descriptors.size()) {
        check(::uv_loop_init(&loop_), "uv_loop_init");
        try {
            for (unsigned i = 0; i < connections_.size(); ++i) { open(i, descriptors[i]); }
        } catch (...) {
            end();
            throw;
        }
    }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;
    ~Side() { end(); }

    /// Until stop(), or until the other side has closed a connection.
    void run() {
        ::uv_run(&loop_, UV_RUN_DEFAULT);
        if (!failure_.empty()) { throw std::runtime_error(failure_); }
    }
    void stop() { ::uv_stop(&loop_); }

    /// At once: one message is under way on a connection, and a socket has room for it.
    void send(unsigned number, const Message& message) {
        Connection& connection = connections_[number];
        char* const bytes = reinterpret_cast<char*>(const_cast<Message*>(&message));  // NOLINT: libuv's way
        const uv_buf_t buffer = ::uv_buf_init(bytes, sizeof message);
        const int sent = ::uv_try_write(stream(connection), &buffer, 1);
        if (sent != static_cast<int>(sizeof message)) {
            fail(sent < 0 ? ::uv_strerror(sent) : "part of a message was sent");
        }
    }

private:
    struct Connection {
        uv_tcp_t handle{};
        Side* side = nullptr;
        unsigned number = 0;
        bool closing = false;
        std::array<char, 2 * sizeof(Message)> incoming{};
        std::size_t have = 0;
    };

    static uv_stream_t* stream(Connection& connection) {
        return reinterpret_cast<uv_stream_t*>(&connection.handle);  // NOLINT(*-reinterpret-cast) libuv's way
    }
    static Connection& of(uv_handle_t* handle) { return *static_cast<Connection*>(handle->data); }

    /// More than a message, as a read that fills what it is offered is taken for one of several.
    static void room(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
        Connection& connection = of(handle);
        *buffer = ::uv_buf_init(connection.incoming.data() + connection.have,
                                static_cast<unsigned>(connection.incoming.size() - connection.have));
    }
    static void read(uv_stream_t* from, ssize_t count, const uv_buf_t*) {
        Connection& connection = *static_cast<Connection*>(from->data);
        Side& side = *connection.side;
        if (count < 0) {
            side.close(connection);
            side.stop();
            return;
        }
        connection.have += static_cast<std::size_t>(count);
        if (connection.have < sizeof(Message)) { return; }
        if (connection.have > sizeof(Message)) {
            side.fail("more than one message came");
            return;
        }
        connection.have = 0;
        Message message;
        std::memcpy(message.data(), connection.incoming.data(), sizeof message);
        side.came_(connection.number, message);
    }

    void open(unsigned number, toll::ipc::OwnedDescriptor& descriptor) {
        Connection& connection = connections_[number];
        check(::uv_tcp_init(&loop_, &connection.handle), "uv_tcp_init");
        connection.side = this;
        connection.number = number;
        connection.handle.data = &connection;
        check(::uv_tcp_open(&connection.handle, descriptor.get()), "uv_tcp_open");
        (void)descriptor.release();
        check(::uv_read_start(stream(connection), room, read), "uv_read_start");
    }
    void end() {
        for (Connection& connection : connections_) {
            if (connection.side != nullptr) { close(connection); }
        }
        ::uv_run(&loop_, UV_RUN_DEFAULT);
        ::uv_loop_close(&loop_);
    }
    void close(Connection& connection) {
        if (connection.closing) { return; }
        connection.closing = true;
        ::uv_close(reinterpret_cast<uv_handle_t*>(&connection.handle), nullptr);  // NOLINT: libuv's way
    }
    void fail(const char* why) {
        failure_ = std::string("libuv: ") + why;
        stop();
    }

    toll::socket::Came came_;
    uv_loop_t loop_{};
    std::vector<Connection> connections_;
    std::string failure_;
};

}  // namespace

using Libuv = toll::socket::Loops<Side>;

TOLL_CONTENDER(socket, libuv, Libuv);
