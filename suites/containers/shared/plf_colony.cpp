#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"

#include <plf_colony.h>

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

using Contender = toll::arrays::AnySize<plf::colony<Element>, Checks::none>;

TOLL_CONTENDER(array_update, plf_colony, Contender);
TOLL_CONTENDER(array_read, plf_colony_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, plf_colony_range_for, Contender, Access::range_for);
