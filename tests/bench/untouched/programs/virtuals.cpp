// Virtual calls: what runs is named by a table that an object points to, and nowhere in the code that calls.

#include <memory>
#include <typeinfo>
#include <vector>

#include "virtuals.hpp"

namespace {

using untouched::Answer;
using untouched::joined;
using untouched::opaque;
using untouched::repeat;
using namespace shapes;

struct Square : Shape {
    explicit Square(Answer side) : side_(side) {}
    // MUTATE[BM_Areas]: side_ * side_ => side_ * side_ + 1
    Answer area() const override { return side_ * side_; }
    // MUTATE[BM_Corners]: return 4 => return 5
    Answer corners() const override { return 4; }
    Answer side_;
};

struct Line : Shape {
    // Without it the base's function stands in the table: no code of a caller changes.
    // MUTATE[BM_Corners]: corners() const override => corners_of_line() const
    Answer corners() const override { return 2; }
};

/// Reached by way of its second base: calls go through a thunk.
struct Named : Shape, Label {
    // MUTATE[BM_SecondBase]: return 31 => return 37
    Answer text() const override { return 31; }
    Answer area() const override { return 3; }
};

std::vector<std::unique_ptr<Shape>> all() {
    std::vector<std::unique_ptr<Shape>> shapes;
    // MUTATE[BM_Areas]: (3) => (4)
    shapes.push_back(std::make_unique<Square>(3));
    shapes.push_back(std::make_unique<Line>());
    shapes.push_back(circle(5));
    shapes.push_back(std::make_unique<Named>());
    return shapes;
}

Answer areas() {
    Answer sum = 0;
    for (const auto& shape : all()) { sum = joined(sum, shape->area()); }
    return sum;
}

Answer corners() {
    static const auto shapes = all();
    Answer sum = 0;
    for (const auto& shape : shapes) { sum = joined(sum, shape->corners()); }
    return sum;
}

Answer second_base() {
    static const Named named;
    const Label* label = opaque(static_cast<const Label*>(&named));
    // MUTATE[BM_SecondBase]: label->text() => label->length()
    return joined(label->text(), label->length());
}

Answer casts() {
    static const auto shapes = all();
    Answer sum = 0;
    for (const auto& shape : shapes) {
        // The code differs in an address alone, that of a type's description.
        // MUTATE[BM_Casts]: <const Square*> => <const Line*>
        sum = joined(sum, dynamic_cast<const Square*>(shape.get()) != nullptr);
        // MUTATE[BM_Casts]: typeid(Named) => typeid(Square)
        sum = joined(sum, typeid(*shape) == typeid(Named) ? 1 : 0);
    }
    return sum;
}

void BM_Areas(benchmark::State& state) {
    repeat(state, areas);
}
void BM_Corners(benchmark::State& state) {
    repeat(state, corners);
}
void BM_SecondBase(benchmark::State& state) {
    repeat(state, second_base);
}
void BM_Casts(benchmark::State& state) {
    repeat(state, casts);
}
BENCHMARK(BM_Areas);
BENCHMARK(BM_Corners);
BENCHMARK(BM_SecondBase);
BENCHMARK(BM_Casts);

}  // namespace

BENCHMARK_MAIN();
