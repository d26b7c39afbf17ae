#include "both.hpp"
#include "ring.hpp"
#include "shared_memory.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>

namespace {

/// Where the queue's blocks come from while it is made; both processes have this memory at the same place.
std::byte* room = nullptr;
std::size_t room_left = 0;
constexpr std::size_t room_bytes = std::size_t{2} * 1024 * 1024;

}  // namespace

// The library asks std::malloc for its blocks, all of them when a queue is made, and has no parameter for it.
// NOLINTBEGIN(bugprone-std-namespace-modification)
namespace std {
inline void* toll_shared_malloc(std::size_t bytes) {
    bytes = (bytes + 63) / 64 * 64;
    if (bytes > room_left) { return nullptr; }
    room_left -= bytes;
    return std::exchange(room, room + bytes);
}
inline void toll_shared_free(void*) noexcept {}
}  // namespace std
// NOLINTEND(bugprone-std-namespace-modification)
#define malloc toll_shared_malloc
#define free toll_shared_free
#include <readerwriterqueue/readerwriterqueue.h>
#undef malloc
#undef free

namespace {

/// A message, or a part of a long one.
template <std::size_t size>
struct Piece {
    std::array<std::byte, size> bytes;
    explicit Piece(std::span<const std::byte> part) noexcept {
        toll::ipc::copy_bytes(bytes.data(), part.data(), part.size());
    }
};

/// Two queues with as many places as they will ever have.
template <class P>
struct Queues {
    std::array<moodycamel::ReaderWriterQueue<P>, 2> way;
    explicit Queues(std::size_t places)
        : way{moodycamel::ReaderWriterQueue<P>(places), moodycamel::ReaderWriterQueue<P>(places)} {}
};

}  // namespace

/// moodycamel::ReaderWriterQueue in shared memory; its own sleeping variant knows threads alone.
class ReaderWriterQueueChannel {
    using Short = Piece<64>;
    using Long = Piece<4096>;
    // The library takes the power of two above, of which one place stays empty: it holds just as many.
    static constexpr std::size_t places = 127;

public:
    static constexpr double copies = 2;  // into the queue and out of it
    static constexpr bool never_sleeps = true;

    explicit ReaderWriterQueueChannel(const toll::ipc::Plan& plan) : plan_(plan), memory_(room_bytes) {
        room = memory_.data();
        room_left = room_bytes;
        if (plan.bytes <= sizeof(Short)) {
            short_ = std::construct_at(static_cast<Queues<Short>*>(std::toll_shared_malloc(sizeof *short_)),
                                       places);
        } else {
            long_ =
                std::construct_at(static_cast<Queues<Long>*>(std::toll_shared_malloc(sizeof *long_)), places);
        }
    }

    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        const std::size_t piece = short_ != nullptr ? sizeof(Short) : sizeof(Long);
        return std::max<std::uint64_t>(1, places / ((plan_.bytes + piece - 1) / piece));
    }

    class End {
    public:
        End(ReaderWriterQueueChannel& channel, toll::ipc::Side side)
            : channel_(channel), out_(index_of(side)), in_(index_of(other(side))) {}
        void send(std::span<const std::byte> message) {
            channel_.short_ != nullptr ? send(channel_.short_->way[out_], message)
                                       : send(channel_.long_->way[out_], message);
        }
        void receive(std::span<std::byte> message) {
            channel_.short_ != nullptr ? receive(channel_.short_->way[in_], message)
                                       : receive(channel_.long_->way[in_], message);
        }

    private:
        template <class P>
        void send(moodycamel::ReaderWriterQueue<P>& queue, std::span<const std::byte> message) {
            toll::ipc::in_parts(message, sizeof(P), [&](std::span<const std::byte> part) {
                while (!queue.try_emplace(part)) { channel_.plan_.relax(); }
            });
        }
        template <class P>
        void receive(moodycamel::ReaderWriterQueue<P>& queue, std::span<std::byte> message) {
            toll::ipc::in_parts(message, sizeof(P), [&](std::span<std::byte> part) {
                P* place = nullptr;
                while ((place = queue.peek()) == nullptr) { channel_.plan_.relax(); }
                toll::ipc::copy_bytes(part.data(), place->bytes.data(), part.size());
                queue.pop();
            });
        }

        ReaderWriterQueueChannel& channel_;
        std::size_t out_;
        std::size_t in_;
    };

private:
    toll::ipc::Plan plan_;
    toll::ipc::SharedMemory memory_;
    Queues<Short>* short_ = nullptr;
    Queues<Long>* long_ = nullptr;
};

TOLL_IPC_CONTENDER(readerwriterqueue, ReaderWriterQueueChannel);
