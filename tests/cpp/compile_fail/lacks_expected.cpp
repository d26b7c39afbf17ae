// expect: the workload lacks info, parameters(), expected() or footing()
#include "workload.hpp"
TOLL_CONTENDER(lacks_expected, fits, Fits);
