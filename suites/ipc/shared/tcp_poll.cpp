#include "both.hpp"
#include "sockets.hpp"

/// An event loop with poll().
using TcpPoll = toll::ipc::StreamChannel<toll::ipc::Polls, toll::ipc::connected_tcp>;

TOLL_IPC_CONTENDER(tcp_poll, TcpPoll);
