// What libowned.so offers.

#pragma once

#include "answers.hpp"

extern "C" {
extern untouched::Answer owned_value;
extern const int owned_table[4];
untouched::Answer owned_mixed(untouched::Answer value);
untouched::Answer owned_calls_back(untouched::Answer value);
untouched::Answer owned_answered(untouched::Answer value);
}
