#pragma once

#include "connections.hpp"
#include "questions.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace toll::socket {

/// Calls `came(connection, message)` for each message that has come as a whole.
using Came = std::function<void(unsigned, const Message&)>;

/// A library's loop of callbacks with its connections, whose descriptors are its own from then on. `run()`
/// goes on until `stop()`, or until the other side has closed a connection.
template <class S>
concept Side = std::constructible_from<S, std::vector<OwnedDescriptor>, Came> &&
               requires(S side, unsigned connection, const Message& message) {
                   side.run();
                   side.stop();
                   side.send(connection, message);
               };

/// Each side has a thread and a loop of its own.
template <Side S>
class Loops {
public:
    explicit Loops(const Inputs& inputs) : questions_(inputs) {
        auto [clients, servers] = sides_of(connections(inputs.connections));
        client_ = std::make_unique<S>(std::move(clients),
                                      [this](unsigned i, const Message& answer) { take(i, answer); });
        server_ = std::jthread([own = std::move(servers)]() mutable { serve(std::move(own)); });
    }
    Loops(const Loops&) = delete;
    Loops& operator=(const Loops&) = delete;
    ~Loops() { client_.reset(); }  // after which the server ends

    std::uint64_t run() {
        questions_.begin([this](unsigned i, const Message& message) { client_->send(i, message); });
        if (!questions_.done()) { client_->run(); }
        if (!questions_.done()) { throw std::runtime_error("the answering side closed a connection"); }
        return questions_.sum();
    }

private:
    void take(unsigned i, const Message& answer) {
        questions_.answered(i, answer,
                            [this](unsigned next, const Message& message) { client_->send(next, message); });
        if (questions_.done()) { client_->stop(); }
    }
    /// A failure closes the connections, which the other side sees.
    static void serve(std::vector<OwnedDescriptor> descriptors) {
        S* self = nullptr;
        try {
            S side(std::move(descriptors),
                   [&self](unsigned i, const Message& request) { self->send(i, answer_to(request)); });
            self = &side;
            side.run();
        } catch (const std::runtime_error&) {}
    }

    Questions questions_;
    std::unique_ptr<S> client_;
    std::jthread server_;
};

}  // namespace toll::socket
