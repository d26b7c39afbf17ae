#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"
#include "boost_array_checks.hpp"

#include <boost/container/devector.hpp>

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

using Contender = toll::arrays::AnySize<boost::container::devector<Element>, Checks::boost>;

TOLL_CONTENDER(array_update, boost_devector, Contender);
TOLL_CONTENDER(array_read, boost_devector_index, Contender, Access::index);
TOLL_CONTENDER(array_read, boost_devector_at, Contender, Access::at);
TOLL_CONTENDER(array_read, boost_devector_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, boost_devector_range_for, Contender, Access::range_for);
