#include "both.hpp"
#include "udp.hpp"

using UdpPoll = toll::ipc::UdpChannel<toll::ipc::CalledDatagrams<toll::ipc::Polls>>;

TOLL_IPC_CONTENDER(udp_poll, UdpPoll);
