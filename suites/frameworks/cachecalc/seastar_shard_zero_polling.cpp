#include "seastar.hpp"

TOLL_CONTENDER(cachecalc, seastar_shard_zero_polling, toll::cachecalc::SeastarShardZero<toll::Idle::polls>);
