#include "liburcu.hpp"

#include <urcu/urcu-memb.h>

/// Readers write a flag of their own, without a fence: who waits for them has the kernel run one on each CPU
/// (membarrier(2)). Where the kernel has none, both sides have fences.
struct Memb {
    TOLL_LIBURCU_FLAVOUR(memb)
    static bool fenced_by_kernel() noexcept { return urcu_memb_has_sys_membarrier != 0; }
};

using LiburcuMemb = toll::read_mostly::Liburcu<Memb>;

TOLL_CONTENDER(read_mostly, liburcu_memb, LiburcuMemb);
