#include "smallest_stack.hpp"
#include "spawning.hpp"
#include "thread_limit.hpp"

#include <boost/thread/thread_only.hpp>
#include <utility>

struct BoostThreads : toll::skynet::ThreadLimit {
    using Unit = boost::thread;

    explicit BoostThreads(const toll::skynet::Inputs& inputs) : ThreadLimit(inputs) {
        attributes_.set_stack_size(toll::skynet::smallest_stack_bytes());
    }

    template <class Work>
    Unit start(Work work) {
        return boost::thread(attributes_, std::move(work));
    }

    [[nodiscard]] toll::Footing footing() const { return {{"stack_bytes", attributes_.get_stack_size()}}; }

    boost::thread::attributes attributes_;
};

TOLL_CONTENDER(skynet, boost_thread, toll::skynet::ThreadTree<toll::skynet::JoinedTree, BoostThreads>);
