#pragma once

#include "descriptors.hpp"
#include "left_behind.hpp"
#include "shared_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

namespace toll::ipc {

/// Memory of a file that has no name: in the folder for temporary files, on a disk where that is one.
class FileMemory {
public:
    explicit FileMemory(std::size_t bytes) : file_(without_name()), memory_(sized(bytes), file_.get()) {}
    [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }

private:
    static OwnedDescriptor without_name() {
        const std::string folder = temporary_folder();
        const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (file >= 0) { return {file, "open"}; }
        // Where the file system knows no such files it has a name for a moment.
        Record record(Record::Kind::file, ::unlink);
        const std::string name = folder + "/" + new_name();
        record.will_make(name);
        OwnedDescriptor named(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), "open");
        ::unlink(name.c_str());
        return named;
    }
    [[nodiscard]] std::size_t sized(std::size_t bytes) const {
        // A file without its room would end the first to write beyond what is left of the disk (SIGBUS).
        const auto length = static_cast<off_t>(bytes);
        int error = EINTR;
        while (error == EINTR) { error = ::posix_fallocate(file_.get(), 0, length); }
        if (error == ENOSPC || error == EDQUOT) {
            throw Unsupported("no room for " + std::to_string(bytes) + " bytes in " + temporary_folder() +
                              ": " + std::generic_category().message(error) +
                              "; make some, or name another folder in TMPDIR");
        }
        if (error == EOPNOTSUPP || error == EINVAL) {  // this file system keeps no room free for a file
            check_call(::ftruncate(file_.get(), length), "ftruncate");
        } else if (error != 0) {
            throw std::system_error(error, std::generic_category(), "posix_fallocate");
        }
        return bytes;
    }

    OwnedDescriptor file_;
    SharedMemory memory_;
};

}  // namespace toll::ipc
