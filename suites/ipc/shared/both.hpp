// Both workloads of the topic, and how a contender enters them.
#pragma once

#include "../round_trip/workload.hpp"
#include "../throughput/workload.hpp"

/// Offers `type` (the last argument) as the contender `name` of both.
#define TOLL_IPC_CONTENDER(name, ...)              \
    TOLL_CONTENDER(round_trip, name, __VA_ARGS__); \
    TOLL_CONTENDER(throughput, name, __VA_ARGS__)
