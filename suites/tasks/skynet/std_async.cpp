#include "spawning.hpp"
#include "thread_limit.hpp"

#include <future>
#include <utility>

struct StdAsync : toll::skynet::ThreadLimit {
    using ThreadLimit::ThreadLimit;
    using Unit = std::future<std::uint64_t>;

    template <class Work>
    Unit start(Work work) {
        return std::async(std::launch::async, std::move(work));
    }
};

TOLL_CONTENDER(skynet, std_async, toll::skynet::ThreadTree<toll::skynet::FutureTree, StdAsync>);
