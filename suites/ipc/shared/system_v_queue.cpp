#include "both.hpp"
#include "descriptors.hpp"

#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#include <algorithm>
#include <csignal>
#include <vector>

/// One queue, whose types tell the two ways apart. Such a queue has no descriptor and stays until it is
/// removed. So it is made in a namespace that ends with its last process, where the kernel lets us; else it
/// is removed in the end, and what a killed launch left, by the next one.
class SystemVQueue {
public:
    static constexpr double copies =
        4;  // beside its type, into the kernel, out of it, and to where it belongs

    explicit SystemVQueue(const toll::ipc::Plan& plan) : plan_(plan), owner_(::getpid()) {
        alone_ = ::unshare(CLONE_NEWIPC) == 0;
        for (key_t key = first_key; queue_ < 0 && key < first_key + 16; ++key) {
            if (!alone_) { remove_left_behind(key); }
            queue_ = ::msgget(key, IPC_CREAT | IPC_EXCL | 0600);
            if (queue_ < 0 && errno != EEXIST) { break; }
        }
        toll::ipc::check_call(queue_, "msgget");
    }
    SystemVQueue(const SystemVQueue&) = delete;
    SystemVQueue& operator=(const SystemVQueue&) = delete;
    ~SystemVQueue() {
        if (::getpid() == owner_) { ::msgctl(queue_, IPC_RMID, nullptr); }
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
    static constexpr std::size_t most = 8192;       // msgmax, unless it was changed
    static constexpr key_t first_key = 0x746f6c6c;  // "toll"

    /// A queue of a launch whose processes are gone.
    static void remove_left_behind(key_t key) {
        msqid_ds state{};
        const int queue = ::msgget(key, 0);
        if (queue < 0 || ::msgctl(queue, IPC_STAT, &state) != 0) { return; }
        const auto gone = [](pid_t process) {
            return process == 0 || (::kill(process, 0) != 0 && errno == ESRCH);
        };
        if (state.msg_lspid != 0 && gone(state.msg_lspid) && gone(state.msg_lrpid)) {
            ::msgctl(queue, IPC_RMID, nullptr);
        }
    }

    toll::ipc::Plan plan_;
    pid_t owner_;
    bool alone_ = false;
    int queue_ = -1;
};

TOLL_IPC_CONTENDER(system_v_queue, SystemVQueue);
