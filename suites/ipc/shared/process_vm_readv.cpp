#include "both.hpp"
#include "descriptors.hpp"
#include "ring.hpp"

#include <sys/uio.h>

/// The message stays where it is, and its receiver has the kernel copy it from the sender's memory. Where it
/// is goes through a ring, on whose futex the receiver sleeps; so does the word that it was copied, for which
/// the sender waits before it writes into the same memory again: each has two buffers.
class ProcessVmReadv {
    using Lines = toll::ipc::RingChannel<toll::ipc::FutexBell>;

public:
    static constexpr double copies = 1;  // by the kernel, from one process to the other

    explicit ProcessVmReadv(const toll::ipc::Plan& plan) : polling_(plan.polling), places_(small(plan)) {
        state_->process[0].store(::getpid(), std::memory_order_release);
    }

    static constexpr std::uint64_t messages_held() noexcept { return 2; }

    class End {
    public:
        End(ProcessVmReadv& channel, toll::ipc::Side side)
            : channel_(channel), side_(index_of(side)), places_(channel.places_, side) {
            channel.state_->process[side_].store(::getpid(), std::memory_order_release);
            // A look at memory that both have at the same place, before the first message.
            char probe = 0;
            const iovec here{&probe, 1};
            const iovec there{&channel, 1};
            const pid_t asker = channel.state_->process[0].load(std::memory_order_acquire);
            if (side_ == 1 && ::process_vm_readv(asker, &here, 1, &there, 1, 0) < 0) {
                throw toll::Unsupported("the kernel does not let one process read the other's memory");
            }
        }

        void send(std::span<const std::byte> message) {
            const Place place{reinterpret_cast<std::uintptr_t>(message.data()), message.size()};
            places_.send(std::as_bytes(std::span(&place, 1)));
            ++sent_;
            // Its receiver has taken the one before the last: then the other buffer is free.
            auto& taken = channel_.state_->taken[1 - side_];
            const auto free = [&] { return sent_ - taken.load(std::memory_order_acquire) < 2; };
            if (free()) { return; }
            if (channel_.polling_) {
                while (!free()) { toll::cpu_relax(); }
            } else {
                channel_.state_->bell[1 - side_].wait(free);
            }
        }

        void receive(std::span<std::byte> message) {
            Place place{};
            places_.receive(std::as_writable_bytes(std::span(&place, 1)));
            const iovec to{message.data(), message.size()};
            // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the other process, as it told it
            const iovec from{reinterpret_cast<void*>(place.at), place.bytes};
            const auto process = channel_.state_->process[1 - side_].load(std::memory_order_acquire);
            const ssize_t came = ::process_vm_readv(process, &to, 1, &from, 1, 0);
            toll::ipc::check_call(came, "process_vm_readv");
            if (static_cast<std::size_t>(came) != message.size()) {
                throw std::runtime_error("process_vm_readv read a part of the message alone");
            }
            channel_.state_->taken[side_].fetch_add(1, std::memory_order_release);
            if (!channel_.polling_) { channel_.state_->bell[side_].ring(); }
        }

    private:
        ProcessVmReadv& channel_;
        std::size_t side_;
        Lines::End places_;
        std::uint64_t sent_ = 0;
    };

private:
    struct Place {
        std::uintptr_t at;
        std::size_t bytes;
    };
    struct State {
        std::array<std::atomic<pid_t>, 2> process{};
        struct alignas(toll::ipc::line_bytes) Count : std::atomic<std::uint64_t> {};
        std::array<Count, 2> taken{};  // by each side
        struct alignas(toll::ipc::line_bytes) Bell : toll::ipc::FutexBell {};
        std::array<Bell, 2> bell{};
    };

    static toll::ipc::Plan small(toll::ipc::Plan plan) {
        plan.bytes = sizeof(Place);
        return plan;
    }

    bool polling_;
    Lines places_;
    toll::ipc::Shared<State> state_;
};

TOLL_IPC_CONTENDER(process_vm_readv, ProcessVmReadv);
