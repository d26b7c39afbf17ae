#include "both.hpp"
#include "udp.hpp"

using UdpSelect = toll::ipc::UdpChannel<toll::ipc::CalledDatagrams<toll::ipc::Selects>>;

TOLL_IPC_CONTENDER(udp_select, UdpSelect);
