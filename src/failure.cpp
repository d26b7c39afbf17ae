#include "failure.hpp"

#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace toll {

std::string current_failure() {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return "out of memory";  // what() says "std::bad_alloc", which tells a reader less
    } catch (const std::system_error& failure) {
        // The standard library's own sentence, "Resource temporarily unavailable", says neither what nor why.
        const bool threads = failure.code() == std::errc::resource_unavailable_try_again;
        return failure.what() +
               std::string(
                   threads ? "; a limit of threads or processes? (ulimit -u, the container's pids.max)" : "");
    } catch (const std::exception& failure) { return failure.what(); } catch (...) {
        return "something was thrown that is no std::exception";
    }
}

}  // namespace toll
