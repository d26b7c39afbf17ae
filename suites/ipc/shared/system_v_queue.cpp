#include "both.hpp"
#include "descriptors.hpp"
#include "left_behind.hpp"

#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

/// One queue, whose types tell the two ways apart. Such a queue has no descriptor and stays until it is
/// removed. So it is made in a namespace that ends with its last process, where the kernel lets us
/// (CAP_SYS_ADMIN); else it is a private one, which is removed in the end. What a killed launch of this user
/// left is removed by the next one, which knows it by the record of that launch alone.
class SystemVQueue {
public:
    static constexpr double copies =
        4;  // beside its type, into the kernel, out of it, and to where it belongs

    explicit SystemVQueue(const toll::ipc::Plan& plan) : plan_(plan), owner_(::getpid()) {
        if (::unshare(CLONE_NEWIPC) != 0) { record_.emplace(toll::ipc::Record::Kind::system_v_queue); }
        queue_ = ::msgget(IPC_PRIVATE, 0600);
        if (queue_ < 0) {
            throw toll::Unsupported(
                "the kernel gives no System V queue: " + std::generic_category().message(errno) +
                (errno == ENOSPC ? " (kernel.msgmni): `ipcs -q` lists them, `ipcrm -q ID` removes one" : ""));
        }
        try {
            if (record_) { record_->has_made_queue(queue_); }
        } catch (...) {
            leave_nothing();
            throw;
        }
    }
    SystemVQueue(const SystemVQueue&) = delete;
    SystemVQueue& operator=(const SystemVQueue&) = delete;
    ~SystemVQueue() {
        if (::getpid() == owner_) { leave_nothing(); }
    }
    void leave_nothing() noexcept {
        ::msgctl(queue_, IPC_RMID, nullptr);
        if (record_) { record_->forget(); }
    }

    /// By the bytes that the kernel lets lie in the queue; both ways share them.
    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        msqid_ds state{};
        if (::msgctl(queue_, IPC_STAT, &state) != 0) { return 0; }
        return std::max<std::uint64_t>(1, state.msg_qbytes / plan_.bytes);
    }

    class End {
    public:
        End(const SystemVQueue& channel, toll::ipc::Side side)
            : plan_(channel.plan_),
              queue_(channel.queue_),
              out_(static_cast<long>(index_of(side)) + 1),
              in_(static_cast<long>(index_of(other(side))) + 1),
              part_(sizeof(long) + std::min(plan_.bytes, most)) {}
        void send(std::span<const std::byte> message) {
            toll::ipc::in_parts(message, most, [this](std::span<const std::byte> part) {
                const auto send = [this](const std::byte* from, std::size_t size) -> ssize_t {
                    std::memcpy(part_.data(), &out_, sizeof out_);
                    std::copy_n(from, size, part_.begin() + sizeof out_);
                    return ::msgsnd(queue_, part_.data(), size, flags()) == 0 ? static_cast<ssize_t>(size)
                                                                              : -1;
                };
                toll::ipc::transfer_all(part, "msgsnd", send, [this] { again(); });
            });
        }
        void receive(std::span<std::byte> message) {
            toll::ipc::in_parts(message, most, [this](std::span<std::byte> part) {
                const auto receive = [this](std::byte* to, std::size_t size) {
                    const ssize_t came = ::msgrcv(queue_, part_.data(), size, in_, flags());
                    if (came > 0) { std::copy_n(part_.begin() + sizeof in_, came, to); }
                    if (came < 0 && errno == ENOMSG) { errno = EAGAIN; }
                    return came;
                };
                toll::ipc::transfer_all(part, "msgrcv", receive, [this] { again(); });
            });
        }

    private:
        [[nodiscard]] int flags() const { return plan_.polling ? IPC_NOWAIT : 0; }
        void again() const { plan_.relax(); }

        toll::ipc::Plan plan_;
        int queue_;
        long out_;
        long in_;
        std::vector<std::byte> part_;  // the type stands before the bytes: one copy more each way
    };

private:
    static constexpr std::size_t most = 8192;  // msgmax, unless it was changed
    toll::ipc::Plan plan_;
    pid_t owner_;
    std::optional<toll::ipc::Record> record_;
    int queue_ = -1;
};

TOLL_IPC_CONTENDER(system_v_queue, SystemVQueue);
