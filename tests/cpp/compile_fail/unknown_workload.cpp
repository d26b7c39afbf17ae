// expect: nowhere
#include "workload.hpp"
TOLL_CONTENDER(nowhere, fits, Fits);
