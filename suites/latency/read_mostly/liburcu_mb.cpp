#include "liburcu.hpp"

#include <urcu/urcu-mb.h>

/// Readers write a flag of their own, with fences before and after what they read.
struct Mb {
    TOLL_LIBURCU_FLAVOUR(mb)
};

using LiburcuMb = toll::read_mostly::Liburcu<Mb>;

TOLL_CONTENDER(read_mostly, liburcu_mb, LiburcuMb);
