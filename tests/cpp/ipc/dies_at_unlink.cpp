// Preloaded, it kills the program that it was loaded into at the moment at which a name would be removed
// (unless LIVES is in its environment), and lets no file without a name be made. What is left is what the
// next launch has to find. With NO_ROOM in its environment no file gets room either, as on a full disk.
#include <dlfcn.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

/// `name` is removed by the function that would have been called, unless it is one of a channel's: then the
/// program dies, if it is to.
template <class Remove>
int remove_by(const char* function, const char* name) {
    const char* const slash = std::strrchr(name, '/');
    const bool of_a_channel = std::strncmp(slash == nullptr ? name : slash + 1, "toll-", 5) == 0;
    if (of_a_channel && ::getenv("LIVES") == nullptr) { ::raise(SIGKILL); }
    return reinterpret_cast<Remove>(::dlsym(RTLD_NEXT, function))(name);
}

}  // namespace

extern "C" {

int unlink(const char* path) noexcept {
    return remove_by<int (*)(const char*)>("unlink", path);
}

int shm_unlink(const char* name) {
    return remove_by<int (*)(const char*)>("shm_unlink", name);
}

int mq_unlink(const char* name) noexcept {
    return remove_by<int (*)(const char*)>("mq_unlink", name);
}

int posix_fallocate(int file, off_t from, off_t length) {
    if (::getenv("NO_ROOM") != nullptr) { return ENOSPC; }
    return reinterpret_cast<int (*)(int, off_t, off_t)>(::dlsym(RTLD_NEXT, "posix_fallocate"))(file, from,
                                                                                               length);
}

int open(const char* path, int flags, ...) {
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return reinterpret_cast<int (*)(const char*, int, ...)>(::dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}
}
