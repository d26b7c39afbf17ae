#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"

#include <inplace_vector>

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

template <std::size_t N>
using InplaceVector = std::inplace_vector<Element, N>;
using Contender = toll::arrays::FixedSizes<InplaceVector, Checks::standard_array>;

TOLL_CONTENDER(array_update, std_inplace_vector, Contender);
TOLL_CONTENDER(array_read, std_inplace_vector_index, Contender, Access::index);
TOLL_CONTENDER(array_read, std_inplace_vector_at, Contender, Access::at);
TOLL_CONTENDER(array_read, std_inplace_vector_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, std_inplace_vector_range_for, Contender, Access::range_for);
