#include "atomics.hpp"
#include "workload.hpp"

TOLL_CONTENDER(contention, atomic_16_bytes, toll::contention::SixteenBytes);
