// What is being handled now, in words.
#pragma once

#include <string>

namespace toll {

/// The message of the exception in flight, of whatever type. Call inside a catch block.
[[nodiscard]] std::string current_failure();

}  // namespace toll
