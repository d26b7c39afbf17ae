#include "both.hpp"
#include "sockets.hpp"

/// Datagrams that arrive, in order: who sends waits where the receiver's queue is full (unix(7)).
class UnixDatagram {
public:
    static constexpr double copies = 2;  // into the kernel and out of it

    explicit UnixDatagram(const toll::ipc::Plan& plan)
        : plan_(plan),
          sockets_(toll::ipc::connected_datagram(toll::ipc::Address::local_unnamed())),
          held_(toll::ipc::messages_held_by(sockets_, plan.bytes)) {}

    [[nodiscard]] std::uint64_t messages_held() const noexcept { return held_; }

    class End {
    public:
        End(const UnixDatagram& channel, toll::ipc::Side side)
            : plan_(channel.plan_),
              socket_(channel.sockets_[index_of(side)].get()),
              flags_(plan_.polling ? MSG_DONTWAIT : 0) {}
        void send(std::span<const std::byte> message) const {
            toll::ipc::in_parts(message, most, [this](std::span<const std::byte> part) {
                const auto send = [this](const std::byte* from, std::size_t size) {
                    return ::send(socket_, from, size, MSG_NOSIGNAL | flags_);
                };
                toll::ipc::transfer_all(part, "send", send, [this] { plan_.relax(); });
            });
        }
        void receive(std::span<std::byte> message) const {
            const auto receive = [this](std::byte* to, std::size_t size) {
                return ::recv(socket_, to, size, flags_);
            };
            toll::ipc::transfer_all(message, "recv", receive, [this] { plan_.relax(); });
        }

    private:
        static constexpr std::size_t most =
            std::size_t{64} * 1024;  // well below the usual send buffer, wmem_default
        toll::ipc::Plan plan_;
        int socket_;
        int flags_;
    };

private:
    toll::ipc::Plan plan_;
    toll::ipc::SocketPair sockets_;
    std::uint64_t held_;
};

TOLL_IPC_CONTENDER(unix_datagram, UnixDatagram);
