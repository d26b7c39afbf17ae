#include "both.hpp"
#include "shared_memory.hpp"

#include <boost/lockfree/spsc_queue.hpp>

#include <algorithm>
#include <array>

/// Boost.Lockfree's ring of bytes, whose capacity is in its type, so that it lies in shared memory as it is.
/// Many bytes are pushed and popped at once.
class BoostSpscQueue {
    static constexpr std::size_t capacity_bytes = std::size_t{256} * 1024;
    using Queue = boost::lockfree::spsc_queue<std::byte, boost::lockfree::capacity<capacity_bytes>>;

public:
    static constexpr double copies = 2;  // into the ring and out of it
    static constexpr bool never_sleeps = true;

    explicit BoostSpscQueue(const toll::ipc::Plan& plan) : plan_(plan) {}

    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        return std::max<std::uint64_t>(1, capacity_bytes / plan_.bytes);
    }

    class End {
    public:
        End(BoostSpscQueue& channel, toll::ipc::Side side)
            : plan_(channel.plan_),
              out_((*channel.queues_)[index_of(side)]),
              in_((*channel.queues_)[index_of(other(side))]) {}
        void send(std::span<const std::byte> message) {
            while (!message.empty()) {
                const std::size_t went = out_.push(message.data(), message.size());
                message = message.subspan(went);
                if (went == 0) { plan_.relax(); }
            }
        }
        void receive(std::span<std::byte> message) {
            while (!message.empty()) {
                const std::size_t came = in_.pop(message.data(), message.size());
                message = message.subspan(came);
                if (came == 0) { plan_.relax(); }
            }
        }

    private:
        toll::ipc::Plan plan_;
        Queue& out_;
        Queue& in_;
    };

private:
    toll::ipc::Plan plan_;
    toll::ipc::Shared<std::array<Queue, 2>> queues_;
};

TOLL_IPC_CONTENDER(boost_spsc_queue, BoostSpscQueue);
