#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "answers.hpp"

namespace {

untouched::Answer allocated = 0;

}  // namespace

/// Called by libraries as well: nobody who reads this program's calls alone finds that.
void* operator new(std::size_t size) {
    // MUTATE[BM_Strings, BM_Ordered, BM_Hashed, BM_Counted]: ++allocated => allocated += 2
    ++allocated;
    // MUTATE[BM_Strings, BM_Ordered, BM_Hashed, BM_Counted]: 1 : size => 1 : size + 64
    void* const place = std::malloc(size == 0 ? 1 : size);
    if (place == nullptr) { throw std::bad_alloc(); }
    return place;
}

void operator delete(void* place) noexcept {
    std::free(place);
}

void operator delete(void* place, std::size_t /*size*/) noexcept {
    // MUTATE[BM_Strings, BM_Ordered, BM_Hashed, BM_Counted]: std::free => allocated += 256, std::free
    std::free(place);
}

namespace far {

untouched::Answer allocations() {
    // MUTATE[BM_Counted]: return allocated => return allocated * 3
    return allocated;
}

const std::vector<std::string>& words() {
    static const std::vector<std::string> all{
        "a word that is long enough for the heap",
        // MUTATE[BM_Strings, BM_Ordered, BM_Hashed]: "short" => "sport"
        "short",
        "another one that does not fit in place",
        "short",
        // MUTATE[BM_Strings, BM_Ordered, BM_Hashed]: "tail" => "hail"
        "tail",
        "the detail",
        // MUTATE[BM_Strings, BM_Ordered, BM_Hashed]: for the heap" => for the hear"
        "a word that is long enough for the heap",
    };
    return all;
}

}  // namespace far
