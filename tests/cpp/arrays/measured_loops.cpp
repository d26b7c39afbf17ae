// Compiled by test_measured_loops.py, which looks at the machine code of each measured loop.
#include "suites/containers/shared/measured_loops.hpp"

#include <array>
#include <span>
#include <vector>

using namespace toll::arrays;

using Vector = std::vector<Element>;
using Array = std::array<Element, 4096>;
using Native = Element[4096];

template void toll::arrays::measured_update(Vector&, std::size_t, std::uint64_t);
template void toll::arrays::measured_update(std::span<Element>&, std::size_t, std::uint64_t);
template void toll::arrays::measured_update(Array&, std::size_t, std::uint64_t);
template void toll::arrays::measured_update(Native&, std::size_t, std::uint64_t);
template Element toll::arrays::measured_read<Access::index>(const Vector&, std::size_t, std::uint64_t);
template Element toll::arrays::measured_read<Access::at>(const Vector&, std::size_t, std::uint64_t);
template Element toll::arrays::measured_read<Access::iterator>(const Vector&, std::size_t, std::uint64_t);
template Element toll::arrays::measured_read<Access::range_for>(const Vector&, std::size_t, std::uint64_t);
template Element toll::arrays::measured_read<Access::index>(const Native&, std::size_t, std::uint64_t);
