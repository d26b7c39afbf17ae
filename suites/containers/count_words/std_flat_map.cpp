#include "workload.hpp"

#include <cstddef>
#include <flat_map>
#include <functional>
#include <string>
#include <vector>

template <template <class> class Allocator>
struct StdFlatMap {
    static constexpr std::size_t most_group = toll::count_words::most_of_slow;
    using type =
        std::flat_map<std::string, int, std::less<>, std::vector<std::string, Allocator<std::string>>,
                      std::vector<int, Allocator<int>>>;
};

TOLL_CONTENDER(count_words, std_flat_map, toll::count_words::Keyed<StdFlatMap>);
