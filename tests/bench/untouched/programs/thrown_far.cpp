#include <new>
#include <stdexcept>
#include <string>

#include "answers.hpp"

namespace far {

using untouched::Answer;

void fail(int how) {
    switch (how) {
        case 0: return;
        // MUTATE[BM_Types]: std::out_of_range => std::length_error
        case 1: throw std::out_of_range("one");
        case 2: throw std::bad_alloc();
        case 3: throw std::runtime_error("three");
        // MUTATE[BM_Types]: throw 44 => throw 45
        case 4: throw 44;
        // MUTATE[BM_ThrownOn]: "begin " => "began "
        default: throw std::string("begin ");
    }
}

namespace {

struct Left {
    Answer& counter;
    explicit Left(Answer& places) : counter(places) {}
    Left(const Left&) = delete;
    Left& operator=(const Left&) = delete;
    // MUTATE[BM_CleanUp]: *= 3 => *= 5
    ~Left() { counter *= 3; }
};

}  // namespace

void within(int how, Answer& destroyed) {
    const Left left(destroyed);
    // Whether the object's destructor runs while the stack is unwound stands in a table.
    // MUTATE[BM_CleanUp]: domain_error => overflow_error
    if (how == 1) { throw std::domain_error("within"); }
    // MUTATE[BM_CleanUp]: how == 2 => how == 3
    if (how == 2) { throw 2; }
    destroyed += 1;
}

}  // namespace far
