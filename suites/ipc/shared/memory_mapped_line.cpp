#include "both.hpp"
#include "file_memory.hpp"
#include "line.hpp"

/// The line of line_spinning in a file that both have mapped.
TOLL_IPC_CONTENDER(memory_mapped_line, toll::ipc::LineChannel<toll::ipc::FileMemory>);
