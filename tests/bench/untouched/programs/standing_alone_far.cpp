#include <cstdio>
#include <string>

namespace far {

std::string sentence(int number);

std::string sentence(int number) {
    char text[80];
    // MUTATE[BM_Sentences]: "%d times %.3f" => "%d tymes %.3f"
    const int size = std::snprintf(text, sizeof text, "%d times %.3f", number, number / 3.0);
    // MUTATE[BM_Sentences]: size)) + => size)) + std::string(20, ' ') +
    return std::string(text, static_cast<std::size_t>(size)) + ", and that is all";
}

}  // namespace far
