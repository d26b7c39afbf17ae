#pragma once

#include <toll/errors.hpp>

#include <string>
#include <string_view>

namespace toll {

/// For contenders that can have one thread only; `why` begins the sentence that others get, as Unsupported.
inline void require_one_thread(unsigned threads, std::string_view why) {
    if (threads != 1) { throw Unsupported(std::string(why) + "; ask for threads=1"); }
}

}  // namespace toll
