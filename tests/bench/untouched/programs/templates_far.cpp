#include <cstdint>
#include <vector>

#include "answers.hpp"

namespace far {

using untouched::Answer;

template <class Number>
Answer summed(const std::vector<Number>& numbers) {
    Number sum{};
    // MUTATE[BM_Containers]: sum + number => sum - number
    for (const Number number : numbers) { sum = static_cast<Number>(sum + number); }
    // MUTATE[BM_Containers]: * 3 => * 5
    return static_cast<Answer>(static_cast<std::int64_t>(sum) * 3);
}

template Answer summed(const std::vector<std::uint8_t>& numbers);
template Answer summed(const std::vector<std::int8_t>& numbers);
template Answer summed(const std::vector<std::int32_t>& numbers);
template Answer summed(const std::vector<std::int64_t>& numbers);
template Answer summed(const std::vector<float>& numbers);
template Answer summed(const std::vector<double>& numbers);

}  // namespace far
