#include "spawned_process.hpp"

TOLL_CONTENDER(thread_start, posix_spawn, toll::thread_start::SpawnedProcess);
