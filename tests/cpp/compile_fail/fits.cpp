// Compiles: shows that the others fail for their own reason.
#include "workload.hpp"
TOLL_CONTENDER(strict, fits, Fits);
