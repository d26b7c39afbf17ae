#include "both.hpp"
#include "zeromq.hpp"

/// Each side has a context of its own, with one thread that reads and writes; the Unix socket between them
/// has its name in no folder.
struct ZeromqIpc {
    static constexpr double copies = 4;  // into a message, into the kernel, out of it, out of the message

    explicit ZeromqIpc(const toll::ipc::Plan& its_plan)
        : plan(its_plan), where("ipc://@toll-" + std::to_string(::getpid())) {}

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
