// expect: a workload of Kind::batch needs run(iterations) and units_per_iteration()
#include "workload.hpp"
TOLL_CONTENDER(lacks_run, fits, Fits);
