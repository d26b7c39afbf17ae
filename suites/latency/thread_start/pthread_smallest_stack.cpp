#include "posix_starter.hpp"

struct SmallestStack : toll::thread_start::PosixThread {
    SmallestStack() : PosixThread(toll::thread_start::smallest_stack_bytes()) {}
};

TOLL_CONTENDER(thread_start, pthread_smallest_stack, SmallestStack);
