#include "baselines.hpp"

TOLL_CONTENDER(cachecalc, sleep_devzero, toll::cachecalc::WaitOnly<toll::cachecalc::ReadDevZero>);
