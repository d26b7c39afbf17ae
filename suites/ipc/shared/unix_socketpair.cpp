#include "both.hpp"
#include "sockets.hpp"

namespace {

toll::ipc::SocketPair connected() {
    return toll::ipc::socket_pair(SOCK_STREAM);
}

}  // namespace

using UnixSocketpair = toll::ipc::StreamChannel<toll::ipc::Blocks, connected>;

TOLL_IPC_CONTENDER(unix_socketpair, UnixSocketpair);
