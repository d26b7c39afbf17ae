#include "detached_threads.hpp"
#include "stack_sized_thread.hpp"
#include "thread_limit.hpp"

struct DetachedPosixThreads : toll::skynet::DetachedThreadLimit {
    using DetachedThreadLimit::DetachedThreadLimit;

    template <class Work>
    void start(Work work) {
        toll::skynet::PosixThread(attributes_.get(), std::move(work)).detach();
    }

    /// As the program of 2016 asked for: 8 times SIGSTKSZ, which was 8 KiB then.
    static constexpr std::size_t stack_bytes = std::size_t{64} * 1024;
    toll::skynet::ThreadAttributes attributes_{stack_bytes};
};

TOLL_CONTENDER(skynet, pthread_detach,
               toll::skynet::ThreadTree<toll::skynet::DetachedThreadTree, DetachedPosixThreads>);
