#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"

#include <span>

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

// Of a std::vector's elements; at() comes with C++26.
using Contender = toll::arrays::AnySize<std::span<Element>, Checks::standard_array>;

TOLL_CONTENDER(array_update, std_span, Contender);
TOLL_CONTENDER(array_read, std_span_index, Contender, Access::index);
TOLL_CONTENDER(array_read, std_span_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, std_span_range_for, Contender, Access::range_for);
