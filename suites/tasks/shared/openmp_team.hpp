#pragma once

#include <toll/errors.hpp>

#include <string>

namespace toll {

/// `wanted`, once a team of so many threads has been seen. OMP_THREAD_LIMIT and OMP_DYNAMIC make a smaller
/// one, and nobody says so: then it throws Unsupported. The runtime keeps the threads for later teams.
inline unsigned openmp_threads(unsigned wanted) {
    unsigned seen = 0;  // without <omp.h>, which each compiler keeps in a folder of its own
#pragma omp parallel num_threads(wanted) reduction(+ : seen)
    ++seen;
    if (seen != wanted) {
        throw Unsupported("OpenMP makes " + std::to_string(seen) + " threads where " +
                          std::to_string(wanted) +
                          " are asked for; look at OMP_THREAD_LIMIT and OMP_DYNAMIC");
    }
    return wanted;
}

}  // namespace toll
