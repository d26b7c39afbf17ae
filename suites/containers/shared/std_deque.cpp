#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"

#include <deque>

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

using Contender = toll::arrays::AnySize<std::deque<Element>, Checks::standard_container>;

TOLL_CONTENDER(array_update, std_deque, Contender);
TOLL_CONTENDER(array_read, std_deque_index, Contender, Access::index);
TOLL_CONTENDER(array_read, std_deque_at, Contender, Access::at);
TOLL_CONTENDER(array_read, std_deque_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, std_deque_range_for, Contender, Access::range_for);
