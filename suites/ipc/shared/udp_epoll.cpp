#include "both.hpp"
#include "udp.hpp"

using UdpEpoll = toll::ipc::UdpChannel<toll::ipc::CalledDatagrams<toll::ipc::EpollWaits>>;

TOLL_IPC_CONTENDER(udp_epoll, UdpEpoll);
