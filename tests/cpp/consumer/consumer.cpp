// A workload and a contender of somebody else's.
#include <toll/batch.hpp>
#include <toll/contender.hpp>

namespace toll::sorting {

template <class C>
concept Counter = requires(C counter) { counter.next(); };

template <Counter C>
struct Workload {
    static constexpr WorkloadInfo info{"mine/counting", Kind::batch, "ns", "count"};
    static std::vector<Parameter> parameters() { return {}; }
    explicit Workload(const Arguments& arguments) : counter(make_contender<C>(arguments)) {}
    Checksum run(std::uint64_t iterations) {
        return repeat(iterations, [this] { return counter.next(); });
    }
    [[nodiscard]] std::uint64_t units_per_iteration() const { return 1; }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const { return iterations; }
    [[nodiscard]] Footing footing() const { return {}; }
    C counter;
};

}  // namespace toll::sorting

struct Ones {
    int next() { return 1; }
};

TOLL_CONTENDER(sorting, ones, Ones);
