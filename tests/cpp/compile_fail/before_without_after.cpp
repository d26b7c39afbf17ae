// expect: before_batch() needs after_batch() noexcept beside it
#include "workload.hpp"
TOLL_CONTENDER(before_without_after, fits, Fits);
