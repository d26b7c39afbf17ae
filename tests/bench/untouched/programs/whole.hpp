// What the linker's compiler sees of the other file.

#pragma once

#include "answers.hpp"

namespace far {

untouched::Answer tripled(untouched::Answer value);
untouched::Answer powered(untouched::Answer value, unsigned exponent);
untouched::Answer table_entry(std::size_t index);

}  // namespace far
