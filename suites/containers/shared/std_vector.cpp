#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"

#include <vector>

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

using Contender = toll::arrays::AnySize<std::vector<Element>, Checks::standard_container>;

TOLL_CONTENDER(array_update, std_vector, Contender);
TOLL_CONTENDER(array_read, std_vector_index, Contender, Access::index);
TOLL_CONTENDER(array_read, std_vector_at, Contender, Access::at);
TOLL_CONTENDER(array_read, std_vector_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, std_vector_range_for, Contender, Access::range_for);
