#include "std_mutex.hpp"

TOLL_CONTENDER(cachecalc, std_mutex, toll::cachecalc::Threads<toll::cachecalc::ReadDevZero>);
