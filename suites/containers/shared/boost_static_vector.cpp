#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"
#include "boost_array_checks.hpp"

#include <boost/container/static_vector.hpp>

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

template <std::size_t N>
using StaticVector = boost::container::static_vector<Element, N>;
using Contender = toll::arrays::FixedSizes<StaticVector, Checks::boost>;

TOLL_CONTENDER(array_update, boost_static_vector, Contender);
TOLL_CONTENDER(array_read, boost_static_vector_index, Contender, Access::index);
TOLL_CONTENDER(array_read, boost_static_vector_at, Contender, Access::at);
TOLL_CONTENDER(array_read, boost_static_vector_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, boost_static_vector_range_for, Contender, Access::range_for);
