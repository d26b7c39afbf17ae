#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"
#include "boost_array_checks.hpp"

#include <boost/container/small_vector.hpp>

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

// The default size fits the elements that it holds in place; larger ones lie on the heap.
using SmallVector = boost::container::small_vector<Element, toll::arrays::default_size>;
using Contender = toll::arrays::AnySize<SmallVector, Checks::boost>;

TOLL_CONTENDER(array_update, boost_small_vector, Contender);
TOLL_CONTENDER(array_read, boost_small_vector_index, Contender, Access::index);
TOLL_CONTENDER(array_read, boost_small_vector_at, Contender, Access::at);
TOLL_CONTENDER(array_read, boost_small_vector_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, boost_small_vector_range_for, Contender, Access::range_for);
