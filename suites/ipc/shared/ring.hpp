// A ring in shared memory with one producer and one consumer, whose slots say for themselves whether they are
// full: a message of up to 56 bytes is handed over by the move of a single line.
#pragma once

#include "ipc_channel.hpp"
#include "shared_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

namespace toll::ipc {

/// As long as a message needs, at most what keeps a message of 1 MiB on its way in several pieces, so that
/// one side copies in while the other one copies out.
inline constexpr std::size_t most_in_slot = 32 * 1024;

struct RingShape {
    std::size_t payload;  ///< of a slot
    std::size_t stride;   ///< from slot to slot
    std::size_t slots;    ///< a power of two

    explicit RingShape(std::size_t message_bytes)
        : payload(std::min(message_bytes, most_in_slot)),
          stride((sizeof(std::uint32_t) * 2 + payload + line_bytes - 1) / line_bytes * line_bytes),
          slots(std::clamp<std::size_t>(256 * 1024 / stride, 8, 64)) {
        while ((slots & (slots - 1)) != 0) { slots &= slots - 1; }
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
    struct Slot {
        Word lap{0};
        std::uint32_t length = 0;
    };
    struct Bells {
        alignas(line_bytes) std::atomic<std::uint64_t> taken{0};  ///< written by the consumer
        alignas(line_bytes) Bell filled;
        alignas(line_bytes) Bell emptied;
    };

    [[nodiscard]] Slot& slot(std::uint64_t number) const noexcept {
        return *reinterpret_cast<Slot*>(slots_ + (number & (shape_.slots - 1)) * shape_.stride);
    }
    [[nodiscard]] std::uint32_t lap(std::uint64_t number) const noexcept {
        return static_cast<std::uint32_t>(number / shape_.slots) + 1;
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

    void put(std::span<const std::byte> part) {
        if (next_ - known_taken_ == shape_.slots) {
            await(bells_->emptied, [this] {
                known_taken_ = bells_->taken.load(std::memory_order_acquire);
                return next_ - known_taken_ < shape_.slots;
            });
        }
        Slot& here = slot(next_);
        here.length = static_cast<std::uint32_t>(part.size());
        std::memcpy(payload(here), part.data(), part.size());
        here.lap.store(lap(next_), std::memory_order_release);
        ++next_;
        bells_->filled.ring();
    }

    void take(std::span<std::byte> part) {
        Slot& here = slot(next_);
        const std::uint32_t wanted = lap(next_);
        const auto full = [&here, wanted] { return here.lap.load(std::memory_order_acquire) == wanted; };
        if (!full()) { await(bells_->filled, full); }
        std::memcpy(part.data(), payload(here), std::min<std::size_t>(part.size(), here.length));
        ++next_;
        if (next_ - told_taken_ >= shape_.slots / 4) {
            told_taken_ = next_;
            bells_->taken.store(next_, std::memory_order_release);
            bells_->emptied.ring();
        }
    }

    RingShape shape_;
    Bells* bells_;
    std::byte* slots_;
    Plan plan_;
    std::uint64_t next_ = 0;         ///< of this side: the slot that it fills, or empties, next
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
        for (const std::size_t way : {0, 1}) { made_[way].emplace(shape_, memory_of(way), plan_); }
    }

    RingChannel(const RingChannel&) = delete;
    RingChannel& operator=(const RingChannel&) = delete;
    ~RingChannel() {
        for (auto& ring : made_) { ring->unmake(); }
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
    std::array<std::optional<Ring<Bell>>, 2> made_;
};

}  // namespace toll::ipc
