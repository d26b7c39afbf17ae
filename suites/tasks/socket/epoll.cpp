#include "connections.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <span>
#include <system_error>
#include <thread>

namespace {

using toll::ipc::check_call;
using toll::ipc::OwnedDescriptor;
using toll::socket::Message;

/// A message that may come in parts.
class Incoming {
public:
    /// The message once it is whole; nothing where more of it is to come. `closed` says that none will.
    std::optional<Message> read_from(int descriptor, bool& closed) {
        auto* const bytes = reinterpret_cast<char*>(message_.data());  // NOLINT(*-reinterpret-cast)
        const ssize_t came = ::read(descriptor, bytes + have_, sizeof message_ - have_);
        if (came == 0 || (came < 0 && errno == ECONNRESET)) {
            closed = true;
            return std::nullopt;
        }
        if (came < 0) {
            if (errno == EAGAIN || errno == EINTR) { return std::nullopt; }
            throw std::system_error(errno, std::generic_category(), "read");
        }
        have_ += static_cast<std::size_t>(came);
        if (have_ < sizeof message_) { return std::nullopt; }
        have_ = 0;
        return message_;
    }

private:
    Message message_{};
    std::size_t have_ = 0;
};

/// All of it at once: one message is under way on a connection, and a socket has room for it.
void send(int descriptor, const Message& message) {
    const ssize_t sent = ::write(descriptor, message.data(), sizeof message);
    check_call(sent, "write");
    if (sent != static_cast<ssize_t>(sizeof message)) {
        throw std::runtime_error("a socket took part of a message");
    }
}

/// Some descriptors, each known by a number.
class Watch {
public:
    explicit Watch(std::size_t most)
        : events_(most), epoll_(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1") {}

    void add(int descriptor, std::uint32_t number) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = number;
        check_call(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
    }
    void remove(int descriptor) {
        check_call(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr), "epoll_ctl");
    }

    /// Calls `ready(number)` for each that has something, after a wait where none has.
    template <class Ready>
    void wait(Ready ready) {
        const int count = ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), -1);
        if (count < 0 && errno == EINTR) { return; }
        check_call(count, "epoll_wait");
        for (const epoll_event& event : std::span{events_}.first(static_cast<std::size_t>(count))) {
            ready(event.data.u32);
        }
    }

private:
    std::vector<epoll_event> events_;
    OwnedDescriptor epoll_;
};

}  // namespace

/// The floor: what the runtimes are made of.
struct Epoll {
    explicit Epoll(const toll::socket::Inputs& inputs)
        : inputs_(inputs),
          ends_(toll::socket::connections(inputs.connections)),
          clients_(ends_.size()),
          watch_(ends_.size()) {
        for (std::uint32_t i = 0; i < ends_.size(); ++i) { watch_.add(ends_[i].client.get(), i); }
        server_ = std::jthread([this] { serve(); });
    }
    Epoll(const Epoll&) = delete;
    Epoll& operator=(const Epoll&) = delete;
    ~Epoll() {
        for (toll::socket::Ends& end : ends_) { end.client = {}; }  // after which the server ends
    }

    std::uint64_t run() {
        std::uint64_t sum = 0;
        std::size_t asking = 0;
        for (std::uint32_t i = 0; i < clients_.size(); ++i) {
            clients_[i].left = inputs_.share(i);
            if (clients_[i].left.count == 0) { continue; }
            ++asking;
            ask(i);
        }
        while (asking > 0) {
            watch_.wait([&](std::uint32_t i) {
                Client& client = clients_[i];
                bool closed = false;
                const auto answer = client.incoming.read_from(ends_[i].client.get(), closed);
                if (closed) { throw std::runtime_error("the answering side closed a connection"); }
                if (!answer) { return; }
                sum += toll::socket::checked(*answer, client.left.first);
                ++client.left.first;
                if (--client.left.count == 0) {
                    --asking;
                } else {
                    ask(i);
                }
            });
        }
        return sum;
    }

private:
    struct Client {
        toll::Share left{};
        Incoming incoming;
    };

    void ask(std::uint32_t i) { send(ends_[i].client.get(), toll::socket::request(clients_[i].left.first)); }

    /// Until all clients have closed.
    void serve() {
        Watch watch(ends_.size());
        std::vector<Incoming> incoming(ends_.size());
        for (std::uint32_t i = 0; i < ends_.size(); ++i) { watch.add(ends_[i].server.get(), i); }
        for (std::size_t open = ends_.size(); open > 0;) {
            watch.wait([&](std::uint32_t i) {
                const int descriptor = ends_[i].server.get();
                bool closed = false;
                const auto request = incoming[i].read_from(descriptor, closed);
                if (closed) {
                    watch.remove(descriptor);
                    --open;
                } else if (request) {
                    send(descriptor, toll::socket::answer_to(*request));
                }
            });
        }
    }

    toll::socket::Inputs inputs_;
    std::vector<toll::socket::Ends> ends_;
    std::vector<Client> clients_;
    Watch watch_;
    std::jthread server_;
};

TOLL_CONTENDER(socket, epoll, Epoll);
