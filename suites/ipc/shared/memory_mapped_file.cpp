#include "both.hpp"
#include "descriptors.hpp"
#include "left_behind.hpp"
#include "ring.hpp"

#include <cstdlib>
#include <filesystem>

namespace {

/// Memory of a file that has no name: in the folder for temporary files, on a disk where that is one.
class FileMemory {
public:
    explicit FileMemory(std::size_t bytes) : file_(without_name()), memory_(sized(bytes), file_.get()) {}
    [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }

private:
    static toll::ipc::OwnedDescriptor without_name() {
        const std::string folder = std::filesystem::temp_directory_path();
        const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (file >= 0) { return {file, "open"}; }
        // Where the file system knows no such files it has a name for a moment.
        toll::ipc::Record record(toll::ipc::Record::Kind::file, ::unlink);
        const std::string name = folder + "/" + toll::ipc::new_name();
        record.will_make(name);
        toll::ipc::OwnedDescriptor named(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600),
                                         "open");
        ::unlink(name.c_str());
        return named;
    }
    [[nodiscard]] std::size_t sized(std::size_t bytes) const {
        toll::ipc::check_call(::ftruncate(file_.get(), static_cast<off_t>(bytes)), "ftruncate");
        return bytes;
    }

    toll::ipc::OwnedDescriptor file_;
    toll::ipc::SharedMemory memory_;
};

}  // namespace

/// The ring of ring_spinning in a file that both have mapped: the page cache is the memory they share.
struct MemoryMappedFile : toll::ipc::RingChannel<toll::ipc::NoBell, FileMemory> {
    using RingChannel::RingChannel;
    static constexpr bool never_sleeps = true;
};

TOLL_IPC_CONTENDER(memory_mapped_file, MemoryMappedFile);
