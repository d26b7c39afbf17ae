#include "seastar.hpp"

TOLL_CONTENDER(cachecalc, seastar_sharded_overprovisioned,
               toll::cachecalc::SeastarSharded<toll::cachecalc::Idle::sleeps>);
