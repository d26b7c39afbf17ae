// What a program shows when a person runs it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace toll {

/// The words that a program takes, and what it offers.
[[nodiscard]] std::string help_text();

/// Measures and prints. `words` is [CONTENDER] [name=value ...]; without a name, every contender.
/// Throws UsageError for words that fit nothing.
void show_table(std::span<const std::string_view> words);

}  // namespace toll
