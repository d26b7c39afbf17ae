#include "both.hpp"
#include "io_uring.hpp"

class TcpUring {
public:
    static constexpr double copies = 2;  // into the kernel and out of it

    explicit TcpUring(const toll::ipc::Plan& plan) : plan_(plan), sockets_(toll::ipc::connected_tcp()) {}

    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        return toll::ipc::messages_in_buffers(sockets_, plan_.bytes);
    }

    [[nodiscard]] toll::Footing footing() const { return toll::ipc::ring_footing(plan_); }

    class End {
    public:
        End(const TcpUring& channel, toll::ipc::Side side)
            : plan_(channel.plan_), socket_(channel.sockets_[index_of(side)].get(), channel.plan_) {}
        void send(std::span<const std::byte> message) {
            const auto send = [this](const std::byte* from, std::size_t size) {
                return socket_.send(from, size);
            };
            toll::ipc::transfer_all(message, "send", send, [this] { plan_.relax(); });
        }
        void receive(std::span<std::byte> message) {
            const auto receive = [this](std::byte* to, std::size_t size) {
                return socket_.receive(to, size);
            };
            toll::ipc::transfer_all(message, "recv", receive, [this] { plan_.relax(); });
        }

    private:
        toll::ipc::Plan plan_;
        toll::ipc::UringSocket socket_;
    };

private:
    toll::ipc::Plan plan_;
    toll::ipc::SocketPair sockets_;
};

TOLL_IPC_CONTENDER(tcp_io_uring, TcpUring);
