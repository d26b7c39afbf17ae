#include "both.hpp"
#include "sockets.hpp"

/// An event loop with select().
using TcpSelect = toll::ipc::StreamChannel<toll::ipc::Selects, toll::ipc::connected_tcp>;

TOLL_IPC_CONTENDER(tcp_select, TcpSelect);
