#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

template <std::size_t N>
using NativeArray = Element[N];
using Contender = toll::arrays::FixedSizes<NativeArray, Checks::none>;

TOLL_CONTENDER(array_update, native_array, Contender);
TOLL_CONTENDER(array_read, native_array_index, Contender, Access::index);
TOLL_CONTENDER(array_read, native_array_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, native_array_range_for, Contender, Access::range_for);
