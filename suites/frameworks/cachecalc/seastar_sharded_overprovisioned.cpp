#include "seastar.hpp"

TOLL_CONTENDER(cachecalc, seastar_sharded_overprovisioned,
               toll::cachecalc::SeastarSharded<toll::Idle::sleeps>);
