#include "detached_threads.hpp"
#include "thread_limit.hpp"

#include <thread>
#include <utility>

struct DetachedStdThreads : toll::skynet::DetachedThreadLimit {
    using DetachedThreadLimit::DetachedThreadLimit;

    template <class Work>
    void start(Work work) {
        std::thread(std::move(work)).detach();
    }
};

TOLL_CONTENDER(skynet, std_thread_detach,
               toll::skynet::ThreadTree<toll::skynet::DetachedThreadTree, DetachedStdThreads>);
