#include "toll/arguments.hpp"

#include <charconv>
#include <system_error>
#include <utility>

#include "toll/errors.hpp"
#include "toll/threads.hpp"

namespace toll {
namespace {

std::string names_of(std::span<const Parameter> parameters) {
    if (parameters.empty()) { return "it has none"; }
    std::string names = "it has ";
    for (const Parameter& parameter : parameters) {
        if (&parameter != parameters.data()) { names += ", "; }
        names += parameter.name;
    }
    return names;
}

}  // namespace

Arguments::Arguments(std::span<const Parameter> parameters, std::span<const std::string_view> words) {
    for (const Parameter& parameter : parameters) { values_[parameter.name] = parameter.default_value; }
    std::map<std::string, bool, std::less<>> given;
    for (const std::string_view word : words) {
        const auto equals = word.find('=');
        if (equals == std::string_view::npos) {
            throw UsageError("'" + std::string(word) + "' is not of the form name=value");
        }
        const std::string name(word.substr(0, equals));
        const auto value = values_.find(name);
        if (value == values_.end()) {
            throw UsageError("there is no parameter '" + name + "'; " + names_of(parameters));
        }
        if (std::exchange(given[name], true)) {
            throw UsageError("the parameter '" + name + "' is given twice");
        }
        value->second = word.substr(equals + 1);
    }
}

std::uint64_t Arguments::number(std::string_view name, std::uint64_t low, std::uint64_t high) const {
    const std::string& written = text(name);
    std::uint64_t value = 0;
    if (written == "cpus") {
        value = usable_cpus().size();
    } else {
        const char* end = written.data() + written.size();
        const auto [stopped, error] = std::from_chars(written.data(), end, value);
        if (error != std::errc{} || stopped != end) {
            throw UsageError(std::string(name) + "=" + written + " is not a whole number");
        }
    }
    if (value < low || value > high) {
        throw UsageError(std::string(name) + "=" + written + " is not between " + std::to_string(low) +
                         " and " + std::to_string(high));
    }
    return value;
}

const std::string& Arguments::text(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) {
        throw UsageError("the workload asks for a parameter '" + std::string(name) +
                         "' that it does not declare");
    }
    return found->second;
}

}  // namespace toll
