#include "both.hpp"
#include "shared_memory.hpp"
#include "zeromq.hpp"

/// Each side has a context of its own, with one thread that reads and writes; the Unix socket between them
/// has its name in no folder.
struct ZeromqIpc {
    /// Into a message, into the kernel, out of it, out of the message. Short ones are gathered in a block of
    /// 8 KiB before they go to the kernel: one copy more.
    static constexpr double copies = 4;
    static constexpr std::size_t carriers = 1;

    explicit ZeromqIpc(const toll::ipc::Plan& its_plan)
        : plan(its_plan), where("ipc://@" + toll::ipc::new_name()) {}

    /// What waits in the two sockets; the Unix socket between them holds as much as the kernel lets it.
    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        return 2 * static_cast<std::uint64_t>(toll::ipc::ZeromqSocket::most_waiting(plan));
    }

    struct End {
        toll::ipc::ZeromqContext context;
        toll::ipc::ZeromqSocket socket;
        End(const ZeromqIpc& channel, toll::ipc::Side side)
            : socket(context.get(), channel.where, side, channel.plan) {}
        void send(std::span<const std::byte> message) { socket.send(message); }
        void receive(std::span<std::byte> message) { socket.receive(message); }
    };

    toll::ipc::Plan plan;
    std::string where;
};

TOLL_IPC_CONTENDER(zeromq_ipc, ZeromqIpc);
