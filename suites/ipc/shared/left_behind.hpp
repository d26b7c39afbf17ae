// What the kernel or a file system keeps where a launch is killed, and how the next launch removes it.
#pragma once

#include "descriptors.hpp"
#include "shared_memory.hpp"

#include <toll/errors.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace toll::ipc {

/// When a process began, in clock ticks after the machine did (proc_pid_stat(5), field 22): with its number
/// it names one process. Nothing where there is no such process.
inline std::optional<std::uint64_t> start_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    // The command's name in parentheses may itself hold any character.
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) { return std::nullopt; }
    std::istringstream rest(text.substr(name_end + 1));
    std::string word;
    for (int field = 3; field <= 22; ++field) { rest >> word; }
    std::uint64_t ticks = 0;
    return rest && std::from_chars(word.data(), word.data() + word.size(), ticks).ec == std::errc{}
               ? std::optional(ticks)
               : std::nullopt;
}

/// The folder for temporary files. Throws Unsupported where what the environment names is none.
inline std::string temporary_folder() {
    std::error_code error;
    std::string folder = std::filesystem::temp_directory_path(error);
    if (!error) { return folder; }
    std::string named = "/tmp";
    for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {  // the first that is set counts
        if (const char* value = std::getenv(variable)) {
            named = std::string(variable) + "=" + value;
            break;
        }
    }
    throw Unsupported(named + " is no folder for temporary files (" + error.message() +
                      "); name one in TMPDIR");
}

/// A file that says what this process has made, for as long as it would stay if the process were killed now.
/// Its name says whose it is: /tmp/toll-ipc-UID/NAMESPACE.PID.START, so that nobody else's is touched. The
/// next launch of the same user removes what the records of processes that are gone tell of, and nothing that
/// no record tells of.
class Record {
public:
    /// What it tells of is removed by
    enum class Kind : char {
        file = 'f',            ///< unlink()
        message_queue = 'm',   ///< mq_unlink()
        shared_memory = 's',   ///< shm_unlink()
        system_v_queue = 'q',  ///< msgctl(), where it is the one that was made
    };
    using Remove = int (*)(const char* name);

    /// Removes what was left behind; `remove` does what `kind` says, and is not needed for a queue of System
    /// V. Throws Unsupported where no record can be kept.
    explicit Record(Kind kind, Remove remove = nullptr)
        : kind_(kind), path_(temporary_folder() + "/toll-ipc-" + std::to_string(::geteuid())) {
        remove_left_behind(remove);
        int error = ENOENT;  // also where another launch removes the folder between the calls
        for (int attempt = 0; attempt < 10 && error == ENOENT; ++attempt) {
            const int refused = ::mkdir(path_.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
            folder_ = checked_folder();
            if (folder_.get() < 0) {
                if (refused != 0) { refuse(refused); }  // not the ENOENT of what could not be made
                continue;
            }
            file_ = opened(folder_.get(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL);
            error = file_.get() < 0 ? errno : 0;
        }
        if (error != 0) { refuse(error); }
    }
    Record(const Record&) = delete;
    Record& operator=(const Record&) = delete;
    ~Record() { forget(); }

    /// What was told of is gone.
    void forget() const noexcept {
        ::unlinkat(folder_.get(), name_.c_str(), 0);
        ::rmdir(path_.c_str());  // unless others have theirs in it
    }

    /// Before something of this name, which nobody else can have, is made.
    void will_make(const std::string& name) {
        write(std::string(1, static_cast<char>(kind_)) + " " + name + "\n");
    }

    /// At once after the queue was made.
    void has_made_queue(int queue) {
        msqid_ds state{};
        if (::msgctl(queue, IPC_STAT, &state) != 0) { refuse(errno); }
        write("q " + std::to_string(queue) + " " + std::to_string(state.msg_ctime) + "\n");
    }

private:
    /// Namespaces of processes have numbers of their own: those of another one are not known to be gone.
    static std::string name_space() {
        struct stat state{};
        return ::stat("/proc/self/ns/pid", &state) == 0 ? std::to_string(state.st_ino) : "0";
    }
    static std::string own_name() {
        const auto start = start_of(::getpid());
        if (!start) {
            throw Unsupported("without /proc nobody can tell what a killed launch has left behind");
        }
        return name_space() + "." + std::to_string(::getpid()) + "." + std::to_string(*start);
    }
    /// Of a file that is no link. Without a number where it cannot be opened: errno says why.
    static OwnedDescriptor opened(int folder, const char* name, int flags) {
        const int file = ::openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
        return file < 0 ? OwnedDescriptor() : OwnedDescriptor(file, "openat");
    }

    /// The folder of the records, without a number where there is none. Throws Unsupported where somebody
    /// else could have written them. What follows goes through what was opened, not through the name again:
    /// meanwhile somebody may put another folder in its place.
    [[nodiscard]] OwnedDescriptor checked_folder() const {
        OwnedDescriptor folder = opened(AT_FDCWD, path_.c_str(), O_RDONLY | O_DIRECTORY);
        const int error = folder.get() < 0 ? errno : 0;
        if (error == ENOENT) { return folder; }
        struct stat state{};
        const bool no_folder_of_ours = error == ENOTDIR || error == ELOOP || error == EACCES;
        if (!no_folder_of_ours && (error != 0 || ::fstat(folder.get(), &state) != 0)) { refuse(errno); }
        if (no_folder_of_ours || state.st_uid != ::geteuid() || (state.st_mode & 077U) != 0) {
            throw Unsupported(path_ +
                              " is not a folder of this user's alone: what a killed launch leaves could not "
                              "be removed by its record; remove it, or name another folder in TMPDIR");
        }
        return folder;
    }
    [[noreturn]] void refuse(int error) const {
        throw Unsupported("no record of what a killed launch would leave can be kept in " + path_ + ": " +
                          std::generic_category().message(error) + "; name another folder in TMPDIR");
    }
    void write(const std::string& line) const {
        if (::write(file_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
            refuse(errno);
        }
    }

    void remove_left_behind(Remove remove) const {
        const OwnedDescriptor folder = checked_folder();
        if (folder.get() < 0) { return; }
        for (const std::string& record : names_in(folder.get())) {
            if (!maker_is_gone(record)) { continue; }
            const auto told = content(opened(folder.get(), record.c_str(), O_RDONLY));
            if (told && remove_told(*told, remove)) { ::unlinkat(folder.get(), record.c_str(), 0); }
        }
    }

    static std::vector<std::string> names_in(int folder) {
        std::vector<std::string> names;
        OwnedDescriptor same = opened(folder, ".", O_RDONLY | O_DIRECTORY);
        const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(same.get()), &::closedir);
        if (!listing) { return names; }
        (void)same.release();
        while (const dirent* entry = ::readdir(listing.get())) { names.emplace_back(entry->d_name); }
        return names;
    }

    /// Of a record that this user has written; nothing of what is none.
    static std::optional<std::string> content(const OwnedDescriptor& record) {
        struct stat state{};
        if (record.get() < 0 || ::fstat(record.get(), &state) != 0 || !S_ISREG(state.st_mode) ||
            state.st_uid != ::geteuid()) {
            return std::nullopt;
        }
        std::string text;
        std::array<char, 4096> piece{};
        for (ssize_t came = 0; (came = ::read(record.get(), piece.data(), piece.size())) > 0;) {
            text.append(piece.data(), static_cast<std::size_t>(came));
        }
        return text;
    }

    /// Whether `record` is the name of a record of this namespace, whose process does not live.
    static bool maker_is_gone(std::string_view record) {
        const std::string prefix = name_space() + ".";
        if (!record.starts_with(prefix)) { return false; }
        record.remove_prefix(prefix.size());
        pid_t process = 0;
        std::uint64_t start = 0;
        const char* const end = record.data() + record.size();
        // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): `end` is its size
        const auto first = std::from_chars(record.data(), end, process);
        if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.') { return false; }
        const auto second = std::from_chars(first.ptr + 1, end, start);
        if (second.ec != std::errc{} || second.ptr != end) { return false; }
        return process > 0 && start_of(process) != start;
    }

    /// False where what it tells of is there still: of another kind, which that kind's contender removes, or
    /// in use.
    bool remove_told(const std::string& record, Remove remove) const {
        std::istringstream lines(record);
        for (std::string line; std::getline(lines, line);) {
            if (line.size() < 3 || lines.eof()) { continue; }  // cut short: nothing was made after it
            if (line[0] != static_cast<char>(kind_)) { return false; }
            if (kind_ != Kind::system_v_queue) {
                remove(line.substr(2).c_str());
            } else if (!remove_queue(line.substr(2))) {
                return false;
            }
        }
        return true;
    }

    /// "ID CTIME". Removed only where it is the private queue that this user made then, that nobody has
    /// changed since: an ID may have come to be another queue's. False while who used it last lives.
    static bool remove_queue(const std::string& told) {
        std::istringstream words(told);
        int queue = -1;
        std::time_t made = 0;
        msqid_ds state{};
        if (!(words >> queue >> made) || ::msgctl(queue, IPC_STAT, &state) != 0) { return true; }
        const ipc_perm& owner = state.msg_perm;
        const auto lives = [](pid_t process) { return process != 0 && start_of(process).has_value(); };
        if (owner.__key != IPC_PRIVATE || owner.uid != ::geteuid() || owner.cuid != ::geteuid() ||
            (owner.mode & 0777U) != 0600U || state.msg_ctime != made) {
            return true;
        }
        if (lives(state.msg_lspid) || lives(state.msg_lrpid)) { return false; }
        ::msgctl(queue, IPC_RMID, nullptr);
        return true;
    }

    Kind kind_;
    std::string path_;  ///< of the folder
    std::string name_ = own_name();
    OwnedDescriptor folder_;
    OwnedDescriptor file_;
};

}  // namespace toll::ipc
