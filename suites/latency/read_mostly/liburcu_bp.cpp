#include "liburcu.hpp"

#include <urcu/urcu-bp.h>

/// As memb, for programs that cannot tell which threads read: each is registered by its first read.
struct Bp {
    TOLL_LIBURCU_FLAVOUR(bp)
    static bool fenced_by_kernel() noexcept { return urcu_bp_has_sys_membarrier != 0; }
};

using LiburcuBp = toll::read_mostly::Liburcu<Bp>;

TOLL_CONTENDER(read_mostly, liburcu_bp, LiburcuBp);
