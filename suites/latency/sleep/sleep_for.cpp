#include "workload.hpp"

#include <thread>

struct SleepFor {
    void sleep(toll::sleep::nanoseconds length) { std::this_thread::sleep_for(length); }
};

TOLL_CONTENDER(sleep, sleep_for, SleepFor);
