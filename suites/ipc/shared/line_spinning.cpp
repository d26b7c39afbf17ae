#include "both.hpp"
#include "line.hpp"

TOLL_IPC_CONTENDER(line_spinning, toll::ipc::LineChannel<>);
