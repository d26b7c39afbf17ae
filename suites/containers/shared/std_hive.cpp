#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"

#include <hive>

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

using Contender = toll::arrays::AnySize<std::hive<Element>, Checks::none>;

TOLL_CONTENDER(array_update, std_hive, Contender);
TOLL_CONTENDER(array_read, std_hive_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, std_hive_range_for, Contender, Access::range_for);
