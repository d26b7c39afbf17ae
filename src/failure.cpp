#include "failure.hpp"

#include <exception>
#include <new>

namespace toll {

std::string current_failure() {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return "out of memory";  // what() says "std::bad_alloc", which tells a reader less
    } catch (const std::exception& failure) { return failure.what(); } catch (...) {
        return "something was thrown that is no std::exception";
    }
}

}  // namespace toll
