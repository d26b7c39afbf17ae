#include "both.hpp"
#include "io_uring.hpp"
#include "udp.hpp"

/// A datagram a request, which goes into the memory that the receiver keeps. The ring's multishot receive
/// would need no request for each, but has the kernel fill buffers of its own choice: a copy more.
class UringDatagrams {
public:
    UringDatagrams(int socket, const toll::ipc::Plan& plan) : plan_(plan), socket_(socket, plan) {}

    static toll::Footing footing(const toll::ipc::Plan& plan) { return toll::ipc::ring_footing(plan); }

    void send(const msghdr& datagram) {
        const auto send = [&] { return socket_.send(datagram); };
        toll::ipc::transfer_datagram("sendmsg", send, [this] { plan_.relax(); });
    }
    std::size_t receive(msghdr& datagram) {
        const auto receive = [&] { return socket_.receive(datagram); };
        return toll::ipc::transfer_datagram("recvmsg", receive, [this] { plan_.relax(); });
    }

private:
    toll::ipc::Plan plan_;
    toll::ipc::UringSocket socket_;
};

using UdpUring = toll::ipc::UdpChannel<UringDatagrams>;

TOLL_IPC_CONTENDER(udp_io_uring, UdpUring);
