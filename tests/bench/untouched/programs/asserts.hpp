// What both files of the program know.

#pragma once

#include "answers.hpp"

namespace far {

untouched::Answer looked_up(untouched::Answer value);
void failed(const char* file, int line, const char* what);

}  // namespace far
