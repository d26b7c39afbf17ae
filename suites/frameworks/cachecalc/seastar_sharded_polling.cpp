#include "seastar.hpp"

TOLL_CONTENDER(cachecalc, seastar_sharded_polling, toll::cachecalc::SeastarSharded<toll::Idle::polls>);
