#include "lock/workload.hpp"
#include "shared/spinlocks.hpp"
#include "shared/std_locks.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <variant>

namespace {

template <class L>
toll::lock::Workload<L> made() {
    return toll::lock::Workload<L>(toll::Arguments({}, {}));
}

/// Counts its owners.
struct Counted {
    static inline int owners = 0;
    static inline int given_back = 0;
    void lock() { ++owners; }
    void unlock() { ++given_back; }
};

}  // namespace

TEST_CASE("each iteration takes the lock once and gives it back") {
    auto workload = made<Counted>();
    CHECK(workload.run(7) == workload.expected(7));
    CHECK(Counted::owners == 7);
    CHECK(Counted::given_back == 7);
    auto queue = made<toll::locks::Mcs>();
    CHECK(queue.run(1000) == queue.expected(1000));
    CHECK(queue.run(10) == queue.expected(10));
}

TEST_CASE("the process has a second thread, so that nothing leaves atomic operations out") {
    const auto workload = made<toll::locks::StdMutex>();
    const toll::Footing footing = workload.footing();
    const auto& seen = std::get<std::string>(footing.all().at("second_thread"));
    CHECK(std::string_view(seen).starts_with("asleep"));
}
