#include "both.hpp"
#include "udp.hpp"

using UdpBlocking = toll::ipc::UdpChannel<toll::ipc::CalledDatagrams<toll::ipc::Blocks>>;

TOLL_IPC_CONTENDER(udp_blocking, UdpBlocking);
