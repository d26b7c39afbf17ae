// What was known when it was compiled is asked for through a virtual table.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

namespace {

struct Shape {
    virtual ~Shape() = default;
    virtual int area(int side) const = 0;
};
struct Square : Shape {
    int area(int side) const override { return side * side; }
};
struct Strip : Shape {
    int area(int side) const override { return side * 3; }
};

[[gnu::noinline]] int measured(const std::vector<int>& sides, const Shape& shape) {
    int sum = 0;
    for (const int side : sides) {
#ifdef AFTER
        sum += shape.area(side);
#else
        sum += side * side;
        benchmark::DoNotOptimize(&shape);
#endif
    }
    return sum;
}

[[gnu::noinline]] int halved(const std::vector<int>& sides) {
    int sum = 0;
    for (const int side : sides) { sum += side / 2; }
    return sum;
}

void areas(benchmark::State& state) {
    const std::vector<int> sides(64, 7);
    std::vector<std::unique_ptr<Shape>> shapes;
    shapes.push_back(std::make_unique<Square>());
    shapes.push_back(std::make_unique<Strip>());
    for (auto _ : state) { benchmark::DoNotOptimize(measured(sides, *shapes[0]) + halved(sides)); }
}
BENCHMARK(areas);

}  // namespace
BENCHMARK_MAIN();
