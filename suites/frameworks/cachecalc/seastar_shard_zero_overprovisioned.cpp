#include "seastar.hpp"

TOLL_CONTENDER(cachecalc, seastar_shard_zero_overprovisioned,
               toll::cachecalc::SeastarShardZero<toll::Idle::sleeps>);
