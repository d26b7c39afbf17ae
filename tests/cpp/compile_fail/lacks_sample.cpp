// expect: a workload of Kind::samples needs sample(nanoseconds, clock)
#include "workload.hpp"
TOLL_CONTENDER(lacks_sample, fits, Fits);
