#include "both.hpp"
#include "file_memory.hpp"
#include "ring.hpp"

/// The ring of ring_spinning in a file that both have mapped: the page cache is the memory they share.
struct MemoryMappedFile : toll::ipc::RingChannel<toll::ipc::NoBell, toll::ipc::FileMemory> {
    using RingChannel::RingChannel;
    static constexpr bool never_sleeps = true;
};

TOLL_IPC_CONTENDER(memory_mapped_file, MemoryMappedFile);
