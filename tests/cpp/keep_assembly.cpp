// Compiled to assembly by test_keep_assembly.py; each function's body is compared with what it must
// and must not hold. extern "C" so that labels are plain.
#include <cstdint>

#include "toll/keep.hpp"

extern "C" {

// The sum must be there although nobody reads it.
void keeps_a_sum(int a, int b) {
    toll::keep(a + b);
}

// A constant must be put into a register.
void keeps_a_constant() {
    toll::keep(4711);
}

// Costs nothing: the value is in its register already.
void keeps_an_argument(std::uint64_t a) {
    toll::keep(a);
}
void keeps_a_double(double a) {
    toll::keep(a);
}

// n rounds must remain n rounds; without keep_changed the loop is one multiplication.
std::uint64_t loops(std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
        sum += 3;
        toll::keep_changed(sum);
    }
    return sum;
}
std::uint64_t folds(std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) { sum += 3; }
    return sum;
}

// What was known of the value must be forgotten: no constant 42 in the result.
int forgets() {
    int x = 6;
    toll::keep_changed(x);
    return x * 7;
}

// Both stores must happen, and the load must be repeated.
extern int memory;
int stores_twice() {
    memory = 1111;
    toll::clobber();
    memory = 2222;
    toll::clobber();
    return memory;
}
int stores_once() {
    memory = 1111;
    memory = 2222;
    return memory;
}

// A local that is kept by address must be in memory when the barrier is reached.
struct Pair {
    long a, b;
};
void keeps_a_struct() {
    Pair pair{3333, 4444};
    toll::keep(pair);
}
}
