#include "posix_starter.hpp"
#include "workload.hpp"

#include <boost/thread/thread_only.hpp>
#include <functional>

struct BoostThread {
    boost::thread thread;
    void start(toll::thread_start::Arrival& arrival) { thread = boost::thread(std::ref(arrival)); }
    void finish() { thread.join(); }
    [[nodiscard]] static toll::Footing footing() { return toll::thread_start::ThreadAttributes().footing(); }
};

TOLL_CONTENDER(thread_start, boost_thread, BoostThread);
