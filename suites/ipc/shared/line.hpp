// One line for both directions, a half for each: who answers writes the line that he has just read, as who
// takes turns does, where a ring has another line for each message.
#pragma once

#include "ipc_channel.hpp"
#include "ring.hpp"
#include "shared_memory.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace toll::ipc {

/// It holds one piece of a message each way, and the next one waits until that was taken: what a ring spares
/// when messages follow each other. Who waits polls the line, in `Memory`.
template <class Memory = SharedMemory>
class LineChannel {
public:
    static constexpr double copies = 2;  // into the line and out of it
    static constexpr bool never_sleeps = true;

    explicit LineChannel(const Plan& plan) : plan_(plan) {}

    [[nodiscard]] static constexpr std::uint64_t messages_held() noexcept { return 1; }

private:
    /// Written by one side alone.
    struct Half {
        /// How many pieces it has sent, low, and taken, high: an answer says that its question was taken.
        std::atomic<std::uint64_t> told{0};
        std::array<std::byte, 24> piece{};
    };
    struct alignas(line_bytes) Line {
        std::array<Half, 2> halves;
    };
    static_assert(sizeof(Line::halves) == 64);

public:
    class End {
    public:
        End(LineChannel& channel, Side side)
            : plan_(channel.plan_),
              mine_(channel.line_->halves[index_of(side)]),
              theirs_(channel.line_->halves[index_of(other(side))]) {}

        void send(std::span<const std::byte> message) {
            in_parts(message, mine_.piece.size(), [this](std::span<const std::byte> part) {
                while (theirs_.told.load(std::memory_order_acquire) >> 32U != sent_) { plan_.relax(); }
                copy_bytes(mine_.piece.data(), part.data(), part.size());
                ++sent_;
                tell();
            });
        }
        void receive(std::span<std::byte> message) {
            in_parts(message, theirs_.piece.size(), [this](std::span<std::byte> part) {
                if (told_taken_ != taken_) { tell(); }  // the next piece may wait for it
                while (static_cast<std::uint32_t>(theirs_.told.load(std::memory_order_acquire)) == taken_) {
                    plan_.relax();
                }
                copy_bytes(part.data(), theirs_.piece.data(), part.size());
                ++taken_;
            });
        }

    private:
        void tell() noexcept {
            told_taken_ = taken_;
            mine_.told.store(std::uint64_t{taken_} << 32U | sent_, std::memory_order_release);
        }

        Plan plan_;
        Half& mine_;
        Half& theirs_;
        std::uint32_t sent_ = 0;
        std::uint32_t taken_ = 0;
        std::uint32_t told_taken_ = 0;
    };

private:
    Plan plan_;
    Shared<Line, Memory> line_;
};

}  // namespace toll::ipc
