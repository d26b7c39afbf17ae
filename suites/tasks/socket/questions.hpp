#pragma once

#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace toll::socket {

/// What the asking side of a loop of callbacks keeps: who has asked what, and the sum of the answers.
class Questions {
public:
    explicit Questions(const Inputs& inputs) : inputs_(inputs), left_(inputs.connections) {}

    /// A run begins: calls `ask(connection, message)` with the first request of each that has one.
    template <class Ask>
    void begin(Ask ask) {
        sum_ = 0;
        asking_ = 0;
        for (unsigned i = 0; i < left_.size(); ++i) {
            left_[i] = inputs_.share(i);
            if (left_[i].count == 0) { continue; }
            ++asking_;
            ask(i, request(left_[i].first));
        }
    }

    /// An answer has come: calls `ask` with the connection's next request, if there is one.
    template <class Ask>
    void answered(unsigned connection, const Message& answer, Ask ask) {
        Share& left = left_[connection];
        sum_ += checked(answer, left.first);
        ++left.first;
        if (--left.count == 0) {
            --asking_;
        } else {
            ask(connection, request(left.first));
        }
    }

    [[nodiscard]] bool done() const noexcept { return asking_ == 0; }
    [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }

private:
    Inputs inputs_;
    std::vector<Share> left_;
    std::uint64_t sum_ = 0;
    std::size_t asking_ = 0;
};

}  // namespace toll::socket
