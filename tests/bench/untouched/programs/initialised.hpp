// Variables that several places of the program write before the first benchmark runs.

#pragma once

#include "answers.hpp"

namespace starting {

extern untouched::Answer set_by_main;
extern untouched::Answer set_by_other;
extern untouched::Answer set_by_constructor;

}  // namespace starting
