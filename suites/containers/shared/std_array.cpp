#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"

#include <array>

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

template <std::size_t N>
using StdArray = std::array<Element, N>;
using Contender = toll::arrays::FixedSizes<StdArray, Checks::standard_array>;

TOLL_CONTENDER(array_update, std_array, Contender);
TOLL_CONTENDER(array_read, std_array_index, Contender, Access::index);
TOLL_CONTENDER(array_read, std_array_at, Contender, Access::at);
TOLL_CONTENDER(array_read, std_array_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, std_array_range_for, Contender, Access::range_for);
