// expect: details() must be const and return toll::Details
#include "workload.hpp"
TOLL_CONTENDER(details_not_const, fits, Fits);
