#include "smallest_stack.hpp"
#include "spawning.hpp"
#include "stack_sized_thread.hpp"
#include "thread_limit.hpp"

struct PosixThreads : toll::skynet::ThreadLimit {
    using ThreadLimit::ThreadLimit;
    using Unit = toll::skynet::PosixThread;

    template <class Work>
    Unit start(Work work) {
        return Unit(attributes_.get(), std::move(work));
    }

    [[nodiscard]] toll::Footing footing() const { return {{"stack_bytes", stack_bytes_}}; }

    std::size_t stack_bytes_ = toll::skynet::smallest_stack_bytes();
    toll::skynet::ThreadAttributes attributes_{stack_bytes_};
};

TOLL_CONTENDER(skynet, pthread, toll::skynet::ThreadTree<toll::skynet::JoinedTree, PosixThreads>);
