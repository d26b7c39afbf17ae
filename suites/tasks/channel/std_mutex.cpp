#include "thread_sides.hpp"

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace {

/// The textbook's bounded buffer: a mutex and two conditions.
class Buffer {
public:
    void push(std::uint64_t message) {
        {
            std::unique_lock lock{mutex_};
            not_full_.wait(lock, [this] { return written_ - read_ < toll::channel::capacity; });
            messages_[written_++ % toll::channel::capacity] = message;
        }
        not_empty_.notify_one();
    }

    /// Nothing once it is closed and empty.
    std::optional<std::uint64_t> pop() {
        std::uint64_t message = 0;
        {
            std::unique_lock lock{mutex_};
            not_empty_.wait(lock, [this] { return written_ != read_ || closed_; });
            if (written_ == read_) { return std::nullopt; }
            message = messages_[read_++ % toll::channel::capacity];
        }
        not_full_.notify_one();
        return message;
    }

    void close() {
        {
            const std::scoped_lock lock{mutex_};
            closed_ = true;
        }
        not_empty_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable not_full_;
    std::condition_variable not_empty_;
    std::array<std::uint64_t, toll::channel::capacity> messages_{};
    std::uint64_t written_ = 0;
    std::uint64_t read_ = 0;
    bool closed_ = false;
};

}  // namespace

struct StdMutex {
    explicit StdMutex(const toll::channel::Inputs& inputs) : inputs_(inputs) {
        toll::channel::require_threads(inputs.threads);
    }

    toll::channel::Received run() {
        Buffer buffer;
        const auto produce = [&buffer](toll::Share share) {
            for (std::uint64_t i = 0; i < share.count; ++i) { buffer.push(share.first + i); }
        };
        const auto consume = [&buffer](unsigned /*index*/) {
            toll::channel::Received received;
            while (const auto message = buffer.pop()) { received.add(*message); }
            return received;
        };
        return toll::channel::by_threads(inputs_, produce, consume, [&buffer](bool) { buffer.close(); });
    }

    toll::channel::Inputs inputs_;
};

TOLL_CONTENDER(channel, std_mutex, StdMutex);
