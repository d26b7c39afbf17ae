#include "std_mutex.hpp"

TOLL_CONTENDER(cachecalc, std_mutex_sleep, toll::cachecalc::Threads<toll::cachecalc::Sleep>);
