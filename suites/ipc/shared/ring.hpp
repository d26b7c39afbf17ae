// A ring in shared memory with one producer and one consumer, whose slots say for themselves whether they are
// full: a message of up to 56 bytes is handed over by the move of a single line.
#pragma once

#include "ipc_channel.hpp"
#include "shared_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace toll::ipc {

/// As long as a message needs, at most what keeps a message of 1 MiB on its way in several pieces, so that
/// one side copies in while the other one copies out.
inline constexpr std::size_t most_in_slot = std::size_t{32} * 1024;

struct RingShape {
    std::size_t payload;  ///< of a slot
    std::size_t stride;   ///< from slot to slot
    static constexpr std::size_t most_slots = 64;
    std::size_t slots;  ///< a power of two
    unsigned slots_log2;

    explicit RingShape(std::size_t message_bytes)
        : payload(std::min(message_bytes, most_in_slot)),
          stride((sizeof(std::uint32_t) * 2 + payload + line_bytes - 1) / line_bytes * line_bytes),
          slots(std::clamp<std::size_t>(std::size_t{256} * 1024 / stride, 8, most_slots)),
          slots_log2(0) {
        slots_log2 = static_cast<unsigned>(std::bit_width(slots) - 1);
        slots = std::size_t{1} << slots_log2;
    }
};

/// How one side waits until the other one rings; in shared memory. A Bell has
///   ring()            after something was written that the other side may wait for;
///   wait(ready)       returns once `ready()`; sleeps meanwhile.
/// This one is for those who never sleep: no cost, no wait.
struct NoBell {
    static constexpr bool never_sleeps = true;
    static void ring() noexcept {}
    template <class Ready>
    static void wait(Ready) noexcept {}
};

/// Sleeps on a word in shared memory. The kernel is asked to wake somebody only where somebody said that he
/// would sleep: no system call while the consumer keeps up.
class FutexBell {
public:
    void ring() noexcept {
        // What was published must be seen before the word is read: else both sides could miss the other one.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (sleeps_.load(std::memory_order_relaxed) != 0 &&
            sleeps_.exchange(0, std::memory_order_relaxed) != 0) {
            wake_one(sleeps_);
        }
    }
    template <class Ready>
    void wait(Ready ready) noexcept {
        while (!ready()) {
            sleeps_.store(1, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);
            if (ready()) {
                sleeps_.store(0, std::memory_order_relaxed);
                return;
            }
            sleep_on(sleeps_, 1);
        }
    }

private:
    Word sleeps_{0};
};

/// The first and the last `piece` bytes of `bytes`, which has at least one piece and at most two.
template <std::size_t piece>
void copy_both_ends(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    std::array<std::byte, piece> first;
    std::array<std::byte, piece> last;
    std::memcpy(first.data(), from, piece);
    std::memcpy(last.data(), from + bytes - piece, piece);
    std::memcpy(to, first.data(), piece);
    std::memcpy(to + bytes - piece, last.data(), piece);
}

/// memcpy() of a length that the compiler does not know is a call: dear for a few bytes, which are moved in
/// two pieces that overlap.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    if (bytes > 64) {
        std::memcpy(to, from, bytes);
    } else if (bytes > 32) {
        copy_both_ends<32>(to, from, bytes);
    } else if (bytes >= 16) {
        copy_both_ends<16>(to, from, bytes);
    } else if (bytes >= 8) {
        copy_both_ends<8>(to, from, bytes);
    } else if (bytes >= 4) {
        copy_both_ends<4>(to, from, bytes);
    } else if (bytes >= 2) {
        copy_both_ends<2>(to, from, bytes);
    } else if (bytes == 1) {
        *to = *from;
    }
}

/// One direction. The slots are filled in turn; slot i of lap n is full once its number is n + 1. The
/// consumer tells how far it has come in a line of its own, each quarter of the ring, so that its reading
/// costs the producer's next write nothing.
template <class Bell>
class Ring {
public:
    /// `memory` holds bytes_for(shape), zeroed.
    Ring(RingShape shape, std::byte* memory, const Plan& plan)
        : shape_(shape),
          bells_(std::construct_at(reinterpret_cast<Bells*>(memory))),
          slots_(memory + sizeof(Bells)),
          plan_(plan) {}

    /// Called by one side, after both have done: bells may hold what has to be given back.
    void unmake() noexcept { std::destroy_at(bells_); }

    static std::size_t bytes_for(const RingShape& shape) noexcept {
        return sizeof(Bells) + shape.slots * shape.stride;
    }

    /// For the producer.
    void send(std::span<const std::byte> message) {
        in_parts(message, shape_.payload, [this](std::span<const std::byte> part) { put(part); });
    }
    /// For the consumer.
    void receive(std::span<std::byte> message) {
        in_parts(message, shape_.payload, [this](std::span<std::byte> part) { take(part); });
    }

private:
    /// A single word says that a slot is full and how long its part is: what lies behind is written before
    /// it.
    struct Slot {
        std::atomic<std::uint64_t> lap_and_length{0};
    };
    struct Bells {
        alignas(line_bytes) std::atomic<std::uint64_t> taken{0};  ///< written by the consumer
        alignas(line_bytes) Bell filled;
        alignas(line_bytes) Bell emptied;
    };

    /// The order in which slots are filled is that of their numbers read backwards, bit by bit: in a plain
    /// order the consumer's prefetcher fetches the next slot while the producer is about to write it, and its
    /// line moves twice.
    [[nodiscard]] Slot* slot(std::uint64_t number) const noexcept {
        static_assert(RingShape::most_slots <= 64);
        std::uint64_t index = number << (6 - shape_.slots_log2) & 63U;
        index = (index & 0b000'111U) << 3U | index >> 3U;
        index = (index & 0b001'001U) << 2U | (index & 0b010'010U) | (index >> 2U & 0b001'001U);
        return reinterpret_cast<Slot*>(slots_ + index * shape_.stride);
    }
    /// What the word of a slot is, in the lap of `number`, with a part of `length` bytes.
    [[nodiscard]] std::uint64_t full_word(std::uint64_t number, std::size_t length) const noexcept {
        return ((number >> shape_.slots_log2) + 1) << 32U | length;
    }
    static std::byte* payload(Slot& slot) noexcept { return reinterpret_cast<std::byte*>(&slot + 1); }

    template <class Ready>
    void await(Bell& bell, Ready ready) {
        if (NoBell* const none = nullptr; plan_.polling || std::is_same_v<Bell, NoBell>) {
            (void)none;
            while (!ready()) { plan_.relax(); }
        } else {
            bell.wait(ready);
        }
    }

    /// Nobody sleeps where both poll.
    void ring(Bell& bell) {
        if (!plan_.polling) { bell.ring(); }
    }

    void put(std::span<const std::byte> part) {
        if (next_ - known_taken_ == shape_.slots) {
            await(bells_->emptied, [this] {
                known_taken_ = bells_->taken.load(std::memory_order_acquire);
                return next_ - known_taken_ < shape_.slots;
            });
        }
        Slot& here = *next_slot_;
        copy_bytes(payload(here), part.data(), part.size());
        here.lap_and_length.store(full_word(next_, part.size()), std::memory_order_release);
        next_slot_ = slot(++next_);
        ring(bells_->filled);
    }

    void take(std::span<std::byte> part) {
        Slot& here = *next_slot_;
        const std::uint64_t wanted = full_word(next_, part.size());  // of another length would never come
        const auto full = [&here, wanted] {
            return here.lap_and_length.load(std::memory_order_acquire) == wanted;
        };
        if (!full()) { await(bells_->filled, full); }
        copy_bytes(part.data(), payload(here), part.size());
        next_slot_ = slot(++next_);
        if (next_ - told_taken_ >= shape_.slots / 4) {
            told_taken_ = next_;
            bells_->taken.store(next_, std::memory_order_release);
            ring(bells_->emptied);
        }
    }

    RingShape shape_;
    Bells* bells_;
    std::byte* slots_;
    Plan plan_;
    std::uint64_t next_ = 0;  ///< of this side: the slot that it fills, or empties, next
    Slot* next_slot_ = slot(0);
    std::uint64_t known_taken_ = 0;  ///< the producer's last look
    std::uint64_t told_taken_ = 0;   ///< the consumer's last word
};

/// Two rings, one each way.
template <class Bell, class Memory = SharedMemory>
class RingChannel {
public:
    static constexpr double copies = 2;  // into the ring and out of it

    explicit RingChannel(const Plan& plan)
        : plan_(plan), shape_(plan.bytes), memory_(2 * Ring<Bell>::bytes_for(shape_)) {
        for (const std::size_t way : {0U, 1U}) {
            made_[way] = std::make_unique<Ring<Bell>>(shape_, memory_of(way), plan_);
        }
    }

    RingChannel(const RingChannel&) = delete;
    RingChannel& operator=(const RingChannel&) = delete;
    ~RingChannel() {
        for (auto& ring : made_) { ring->unmake(); }
    }

    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        return std::max<std::uint64_t>(1, shape_.slots * shape_.payload / plan_.bytes);
    }

    class End {
    public:
        End(RingChannel& channel, Side side)
            : out_(*channel.made_[index_of(side)]), in_(*channel.made_[index_of(other(side))]) {}
        void send(std::span<const std::byte> message) { out_.send(message); }
        void receive(std::span<std::byte> message) { in_.receive(message); }

    private:
        Ring<Bell> out_;
        Ring<Bell> in_;
    };

private:
    [[nodiscard]] std::byte* memory_of(std::size_t way) const {
        return memory_.data() + way * Ring<Bell>::bytes_for(shape_);
    }

    Plan plan_;
    RingShape shape_;
    Memory memory_;
    std::array<std::unique_ptr<Ring<Bell>>, 2> made_;
};

}  // namespace toll::ipc
