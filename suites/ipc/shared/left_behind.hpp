// What the kernel or a file system keeps where a launch is killed, and how the next launch removes it.
#pragma once

#include "shared_memory.hpp"

#include <toll/errors.hpp>

#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
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
        : kind_(kind), folder_(folder()), path_(folder_ + "/" + own_name()) {
        remove_left_behind(remove);
        for (int attempt = 0; attempt < 10 && file_ < 0; ++attempt) {  // another launch may remove the folder
            ::mkdir(folder_.c_str(), 0700);
            check_folder();
            file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
            if (file_ < 0 && errno != ENOENT) { break; }
        }
        if (file_ < 0) { refuse(errno); }
    }
    Record(const Record&) = delete;
    Record& operator=(const Record&) = delete;
    ~Record() {
        forget();
        ::close(file_);
    }

    /// What was told of is gone.
    void forget() const noexcept {
        ::unlink(path_.c_str());
        ::rmdir(folder_.c_str());  // unless others have theirs in it
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
    static std::string folder() {
        std::error_code none;
        return std::filesystem::temp_directory_path(none).string() + "/toll-ipc-" +
               std::to_string(::geteuid());
    }

    /// Throws Unsupported where somebody else could have written the folder's records.
    void check_folder() const {
        struct stat state{};
        if (::lstat(folder_.c_str(), &state) != 0) {
            if (errno != ENOENT) { refuse(errno); }
            return;
        }
        if (!S_ISDIR(state.st_mode) || state.st_uid != ::geteuid() || (state.st_mode & 077U) != 0) {
            throw Unsupported(folder_ +
                              " is not a folder of this user's alone: what a killed launch leaves could not "
                              "be removed by its record; remove it, or name another folder in TMPDIR");
        }
    }
    [[noreturn]] void refuse(int error) const {
        throw Unsupported("no record of what a killed launch would leave can be kept in " + folder_ + ": " +
                          std::generic_category().message(error) + "; name another folder in TMPDIR");
    }
    void write(const std::string& line) const {
        if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) { refuse(errno); }
    }

    void remove_left_behind(Remove remove) const {
        check_folder();
        std::error_code none;
        std::vector<std::filesystem::path> gone;
        for (const auto& entry : std::filesystem::directory_iterator(folder_, none)) {
            if (maker_is_gone(entry.path().filename().string())) { gone.push_back(entry.path()); }
        }
        for (const auto& record : gone) {
            if (remove_told(record, remove)) { ::unlink(record.c_str()); }
        }
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
    bool remove_told(const std::filesystem::path& record, Remove remove) const {
        std::ifstream lines(record);
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
    std::string folder_;
    std::string path_;
    int file_ = -1;
};

}  // namespace toll::ipc
