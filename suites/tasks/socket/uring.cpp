#include "../../ipc/shared/one_thread_ring.hpp"

#include "connections.hpp"
#include "questions.hpp"

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using toll::socket::Message;

/// A ring with its connections: a message is received whole, and what is to be sent goes to the kernel
/// together with the next wait.
class Side {
public:
    explicit Side(std::vector<toll::ipc::OwnedDescriptor> descriptors)
        : descriptors_(std::move(descriptors)),
          incoming_(descriptors_.size()),
          outgoing_(descriptors_.size()),
          ring_(static_cast<unsigned>(4 * descriptors_.size()), false) {
        for (unsigned i = 0; i < descriptors_.size(); ++i) {
            // A ring hands a descriptor that does not block straight back where there is nothing yet.
            const int flags = ::fcntl(descriptors_[i].get(), F_GETFL);
            toll::ipc::check_call(::fcntl(descriptors_[i].get(), F_SETFL, flags & ~O_NONBLOCK), "fcntl");
            receive(i);
        }
    }

    void send(unsigned i, const Message& message) {
        outgoing_[i] = message;
        io_uring_sqe* const entry = next();
        ::io_uring_prep_send(entry, descriptors_[i].get(), &outgoing_[i], sizeof(Message),
                             MSG_NOSIGNAL | MSG_WAITALL);
        entry->user_data = sent_mark | i;
        ++sends_;
    }

    /// Waits until something has ended, and calls `came(connection, message)` or `closed(connection)` for
    /// each that was received or can be no more.
    template <class Came, class Closed>
    void wait(Came came, Closed closed) {
        // A message of this length is sent as it is submitted, and says so at once: one more is a receipt.
        const int error = ::io_uring_submit_and_wait(ring_.get(), sends_ + 1);
        sends_ = 0;
        if (error < 0 && error != -EINTR) { fail("io_uring_submit_and_wait", error); }
        io_uring_cqe* ended = nullptr;
        while (::io_uring_peek_cqe(ring_.get(), &ended) == 0) {
            const std::uint64_t what = ended->user_data;
            const int result = ended->res;
            ::io_uring_cqe_seen(ring_.get(), ended);
            const auto i = static_cast<unsigned>(what & ~sent_mark);
            if ((what & sent_mark) != 0) {
                if (result != static_cast<int>(sizeof(Message)) && result != -EPIPE &&
                    result != -ECONNRESET) {
                    fail("send", result);
                }
            } else if (result == static_cast<int>(sizeof(Message))) {
                const Message message = incoming_[i];
                receive(i);
                came(i, message);
            } else if (result == 0 || result == -ECONNRESET) {
                closed(i);
            } else {
                fail("recv", result);
            }
        }
    }

    /// The other side's waits end with it.
    void shut_down() {
        for (const auto& descriptor : descriptors_) { ::shutdown(descriptor.get(), SHUT_RDWR); }
    }
    [[nodiscard]] const char* completions() const noexcept { return ring_.completions(); }

private:
    static constexpr std::uint64_t sent_mark = std::uint64_t{1} << 32U;

    void receive(unsigned i) {
        io_uring_sqe* const entry = next();
        ::io_uring_prep_recv(entry, descriptors_[i].get(), &incoming_[i], sizeof(Message), MSG_WAITALL);
        entry->user_data = i;
    }
    io_uring_sqe* next() {
        io_uring_sqe* const entry = ::io_uring_get_sqe(ring_.get());
        if (entry == nullptr) { throw std::runtime_error("the ring is full, and has room for all"); }
        return entry;
    }
    [[noreturn]] static void fail(const char* what, int result) {
        const std::string why = result < 0 ? std::generic_category().message(-result) : "part of a message";
        throw std::runtime_error(std::string(what) + ": " + why);
    }

    std::vector<toll::ipc::OwnedDescriptor> descriptors_;
    std::vector<Message> incoming_;
    std::vector<Message> outgoing_;
    unsigned sends_ = 0;  ///< since the last wait
    toll::OneThreadRing ring_;
};

}  // namespace

/// Each side has a thread and a ring of its own.
class Uring {
public:
    explicit Uring(const toll::socket::Inputs& inputs) : questions_(inputs) {
        auto [clients, servers] = toll::socket::sides_of(toll::socket::connections(inputs.connections));
        client_ = std::make_unique<Side>(std::move(clients));
        server_ = std::jthread([own = std::move(servers)]() mutable { serve(std::move(own)); });
    }
    Uring(const Uring&) = delete;
    Uring& operator=(const Uring&) = delete;
    ~Uring() { client_->shut_down(); }  // after which the server ends

    std::uint64_t run() {
        const auto ask = [this](unsigned i, const Message& message) { client_->send(i, message); };
        questions_.begin(ask);
        while (!questions_.done()) {
            client_->wait(
                [&](unsigned i, const Message& answer) { questions_.answered(i, answer, ask); },
                [](unsigned) { throw std::runtime_error("the answering side closed a connection"); });
        }
        return questions_.sum();
    }

    [[nodiscard]] toll::Footing footing() const { return {{"completions", client_->completions()}}; }

private:
    /// A failure closes the connections, which the other side sees.
    static void serve(std::vector<toll::ipc::OwnedDescriptor> descriptors) {
        std::size_t open = descriptors.size();
        try {
            Side side(std::move(descriptors));
            while (open > 0) {
                side.wait([&](unsigned i,
                              const Message& request) { side.send(i, toll::socket::answer_to(request)); },
                          [&](unsigned) { --open; });
            }
        } catch (const std::exception&) {}
    }

    toll::socket::Questions questions_;
    std::unique_ptr<Side> client_;
    std::jthread server_;
};

TOLL_CONTENDER(socket, uring, Uring);
