#include <functional>
#include <map>
#include <string>
#include <vector>

#include "answers.hpp"

namespace far {

using untouched::Answer;
using Act = std::function<Answer(Answer)>;

std::map<std::string, Act>& registry() {
    static std::map<std::string, Act> acts;
    return acts;
}

std::vector<int> numbers() {
    std::vector<int> made;
    // MUTATE[BM_Sorted, BM_CalledBack]: made.reserve(64); => made.reserve(16);
    made.reserve(64);
    // MUTATE[BM_Sorted, BM_CalledBack]: * 7919 => * 7907
    for (unsigned index = 0; index < 64; ++index) { made.push_back(static_cast<int>(index * 7919 % 1013)); }
    return made;
}

namespace {

struct Registration {
    Registration(const char* name, Act act) { registry()[name] = std::move(act); }
};

// MUTATE[BM_Registered]: value + 17 => value + 18
const Registration first("first", [](Answer value) { return value + 17; });
// MUTATE[BM_Registered]: value >> 3 => value >> 2
const Registration second("second", [](Answer value) { return value ^ (value >> 3); });
// MUTATE[BM_Registered]: "third" => "threes"
const Registration third("third", [](Answer value) { return value * 9; });

}  // namespace
}  // namespace far
