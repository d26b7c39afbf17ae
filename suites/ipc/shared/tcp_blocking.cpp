#include "both.hpp"
#include "sockets.hpp"

/// recv() sleeps until all of the message is there.
using TcpBlocking = toll::ipc::StreamChannel<toll::ipc::Blocks, toll::ipc::connected_tcp>;

TOLL_IPC_CONTENDER(tcp_blocking, TcpBlocking);
