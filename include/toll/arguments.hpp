// A workload's parameters and the values that one launch was given for them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toll {

/// One input of a workload, as `describe` shows it. A default of "cpus" means the usable CPUs.
struct Parameter {
    std::string name;
    std::string default_value;
    std::string unit;
    std::string meaning;
};

/// The values of one launch: the defaults, overlaid by `name=value` words.
class Arguments {
public:
    /// Throws UsageError for a word without '=', an unknown name or a name given twice.
    Arguments(std::span<const Parameter> parameters, std::span<const std::string_view> words);

    /// The value as a whole number in [low, high]; "cpus" is the number of usable CPUs.
    /// Throws UsageError where the text is no such number or the workload has no such parameter.
    [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t low = 1,
                                       std::uint64_t high = std::numeric_limits<std::uint64_t>::max()) const;

    /// The value as it was written.
    [[nodiscard]] const std::string& text(std::string_view name) const;

    [[nodiscard]] const std::map<std::string, std::string, std::less<>>& all() const noexcept {
        return values_;
    }

private:
    std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace toll
