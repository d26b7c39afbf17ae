#include "both.hpp"
#include "sockets.hpp"

namespace {

/// Through a listening socket, as a server has it; its name is in no folder, so that nothing is left behind.
toll::ipc::SocketPair connected() {
    return toll::ipc::connected_stream(toll::ipc::Address::local_unnamed());
}

}  // namespace

using UnixStream = toll::ipc::StreamChannel<toll::ipc::Blocks, connected>;

TOLL_IPC_CONTENDER(unix_stream, UnixStream);
