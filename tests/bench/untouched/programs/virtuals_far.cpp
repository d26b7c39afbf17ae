#include "virtuals.hpp"

namespace shapes {

using untouched::Answer;

Shape::~Shape() = default;

Answer Shape::area() const {
    // MUTATE[BM_Areas]: return 1 => return 2
    return 1;
}

Answer Shape::corners() const {
    // MUTATE[BM_Corners]: return 0 => return 9
    return 0;
}

Answer Label::length() const {
    // MUTATE[BM_SecondBase]: text() + 10 => text() + 11
    return text() + 10;
}

namespace {

class Circle : public Shape {
public:
    explicit Circle(Answer radius) : radius_(radius) {}
    // MUTATE[BM_Areas]: 355 => 356
    Answer area() const final { return radius_ * radius_ * 355 / 113; }

private:
    Answer radius_;
};

}  // namespace

std::unique_ptr<Shape> circle(Answer radius) {
    // MUTATE[BM_Areas]: (radius) => (radius + 1)
    return std::make_unique<Circle>(radius);
}

}  // namespace shapes
