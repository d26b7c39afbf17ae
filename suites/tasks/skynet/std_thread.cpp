#include "spawning.hpp"
#include "thread_limit.hpp"

#include <thread>
#include <utility>

struct StdThreads : toll::skynet::ThreadLimit {
    using ThreadLimit::ThreadLimit;
    using Unit = std::thread;

    template <class Work>
    Unit start(Work work) {
        return std::thread(std::move(work));
    }
};

TOLL_CONTENDER(skynet, std_thread, toll::skynet::ThreadTree<toll::skynet::JoinedTree, StdThreads>);
