#include "workload.hpp"

TOLL_CONTENDER(reference, short_string, toll::operations::ShortString);
