#include "data_vector.hpp"
#include "../array_read/workload.hpp"
#include "../array_update/workload.hpp"

using toll::arrays::Access;
using toll::arrays::Checks;
using toll::arrays::Element;

using Contender = toll::arrays::AnySize<toll::DataVector<Element>, Checks::none>;

TOLL_CONTENDER(array_update, data_vector, Contender);
TOLL_CONTENDER(array_read, data_vector_index, Contender, Access::index);
TOLL_CONTENDER(array_read, data_vector_iterator, Contender, Access::iterator);
TOLL_CONTENDER(array_read, data_vector_range_for, Contender, Access::range_for);
