#include <cstring>

#include "answers.hpp"

namespace far {

using untouched::Answer;

Answer weight(const char* text) {
    Answer sum = std::strlen(text);
    // The same texts as in the other file, and tails of them.
    // MUTATE[BM_Texts]: "cherry" => "cheery"
    if (std::strcmp(text, "cherry") == 0) { sum += 100; }
    // MUTATE[BM_Texts]: text, "apple" => text, "plum"
    if (std::strcmp(text, "apple") == 0) { sum += 1000; }
    // MUTATE[BM_Texts]: * 31 => * 33
    for (; *text != '\0'; ++text) { sum = sum * 31 + static_cast<unsigned char>(*text); }
    return sum;
}

double scaled(double value) {
    // MUTATE[BM_Doubles]: 1.1 => 1.2
    return value > 1e9 ? value / 1e6 : value * 1.1;
}

}  // namespace far
