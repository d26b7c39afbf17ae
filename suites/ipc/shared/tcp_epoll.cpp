#include "both.hpp"
#include "sockets.hpp"

/// An event loop with epoll_wait(), level-triggered; the socket is registered once.
using TcpEpoll = toll::ipc::StreamChannel<toll::ipc::EpollWaits, toll::ipc::connected_tcp>;

TOLL_IPC_CONTENDER(tcp_epoll, TcpEpoll);
