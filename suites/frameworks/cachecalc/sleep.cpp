#include "baselines.hpp"

TOLL_CONTENDER(cachecalc, sleep, toll::cachecalc::WaitOnly<toll::cachecalc::Sleep>);
