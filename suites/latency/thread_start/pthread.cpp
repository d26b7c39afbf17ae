#include "posix_starter.hpp"

TOLL_CONTENDER(thread_start, pthread, toll::thread_start::PosixThread);
