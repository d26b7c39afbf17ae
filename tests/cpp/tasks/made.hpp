#pragma once

#include <toll/arguments.hpp>

#include <initializer_list>
#include <string_view>
#include <vector>

/// A workload with these parameters, and defaults for all others.
template <class Workload>
Workload made(std::initializer_list<std::string_view> words) {
    const auto parameters = Workload::parameters();
    const std::vector<std::string_view> given{words};
    return Workload{toll::Arguments{parameters, given}};
}
