#include "liburcu.hpp"

#include <urcu/urcu-qsbr.h>

/// Readers write nothing at all: each says now and then that it reads nothing just now, and until all have
/// said so nothing is freed.
struct Qsbr {
    TOLL_LIBURCU_FLAVOUR(qsbr)
    static void quiescent_state() noexcept { urcu_qsbr_quiescent_state(); }
};

using LiburcuQsbr = toll::read_mostly::Liburcu<Qsbr>;

TOLL_CONTENDER(read_mostly, liburcu_qsbr, LiburcuQsbr);
