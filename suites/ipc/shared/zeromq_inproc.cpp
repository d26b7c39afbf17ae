#include "both.hpp"
#include "zeromq.hpp"

/// Two threads share a context; messages stay in the process.
struct ZeromqInproc {
    static constexpr double copies = 2;  // into a message and out of it
    static constexpr bool threads_only = true;

    explicit ZeromqInproc(const toll::ipc::Plan& its_plan) : plan(its_plan) {}

    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        return 2 * static_cast<std::uint64_t>(toll::ipc::ZeromqSocket::most_waiting(plan));
    }

    struct End {
        toll::ipc::ZeromqSocket socket;
        End(const ZeromqInproc& channel, toll::ipc::Side side)
            : socket(channel.context.get(), "inproc://toll", side, channel.plan) {}
        void send(std::span<const std::byte> message) { socket.send(message); }
        void receive(std::span<std::byte> message) { socket.receive(message); }
    };

    toll::ipc::Plan plan;
    toll::ipc::ZeromqContext context;
};

TOLL_IPC_CONTENDER(zeromq_inproc, ZeromqInproc);
