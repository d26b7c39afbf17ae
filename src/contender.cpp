#include "toll/contender.hpp"

namespace toll {
namespace {

// Inside a function: registrations run before main() in an order that nobody fixes.
std::vector<Contender>& registry() {
    static std::vector<Contender> all;
    return all;
}

}  // namespace

std::span<const Contender> contenders() {
    return registry();
}

void detail::add(const Contender& contender) {
    registry().push_back(contender);
}

}  // namespace toll
