// What the contenders of ipc share: messages that show damage, the ring, and what is left behind.
#include "shared/bells.hpp"
#include "shared/file_memory.hpp"
#include "shared/left_behind.hpp"
#include "shared/ring.hpp"
#include "shared/sockets.hpp"
#include "shared/stamped_message.hpp"

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

using namespace toll::ipc;

namespace {

int fallocate_says = 0;               // where it is not 0
std::string put_in_the_place_of_one;  // of a folder of records that is not there: at the moment it is missed

/// Somebody else's folder comes to have the name of one that was looked for in vain.
int with_another(const char* name, int result) {
    const int error = errno;
    if (result < 0 && error == ENOENT && !put_in_the_place_of_one.empty() &&
        std::string_view(name).find("toll-ipc-") != std::string_view::npos) {
        (void)std::rename(put_in_the_place_of_one.c_str(), name);
        put_in_the_place_of_one.clear();
    }
    errno = error;
    return result;
}

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// Before the C library's.
extern "C" {
int posix_fallocate(int file, off_t from, off_t length) {
    if (fallocate_says != 0) { return fallocate_says; }
    return next<int (*)(int, off_t, off_t)>("posix_fallocate")(file, from, length);
}
int lstat(const char* name, struct stat* state) noexcept {
    return with_another(name, next<int (*)(const char*, struct stat*)>("lstat")(name, state));
}
int openat(int folder, const char* name, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    static const auto theirs = next<int (*)(int, const char*, int, ...)>("openat");
    return with_another(name, theirs(folder, name, flags, mode));
}
}

namespace {

namespace fs = std::filesystem;

/// A folder for temporary files of its own, named in TMPDIR as long as it lives.
class OwnTemporaryFolder {
public:
    OwnTemporaryFolder() : path_(fs::temp_directory_path() / new_name()) {
        fs::create_directory(path_);
        name(path_.string());
    }
    OwnTemporaryFolder(const OwnTemporaryFolder&) = delete;
    OwnTemporaryFolder& operator=(const OwnTemporaryFolder&) = delete;
    ~OwnTemporaryFolder() {
        former_ ? name(*former_) : (void)::unsetenv("TMPDIR");
        fs::remove_all(path_);
    }
    [[nodiscard]] const fs::path& path() const { return path_; }
    static void name(const std::string& folder) { ::setenv("TMPDIR", folder.c_str(), 1); }

    /// A folder of records that holds one of a launch that is gone, which tells of "/VICTIM".
    [[nodiscard]] fs::path records(const std::string& folder, const std::string& victim) const {
        fs::create_directory(path_ / folder);
        fs::permissions(path_ / folder, fs::perms::owner_all);
        const fs::path record = path_ / folder / of_one_gone();
        std::ofstream(record) << "f /" << victim << '\n';
        return record;
    }
    static std::string name_of_records() { return "toll-ipc-" + std::to_string(::geteuid()); }
    /// Of process 1, which began at another time.
    static std::string of_one_gone() {
        struct stat space{};
        REQUIRE(::stat("/proc/self/ns/pid", &space) == 0);
        return std::to_string(space.st_ino) + ".1.18446744073709551615";
    }

private:
    std::optional<std::string> former_ = [] {
        const char* const set = std::getenv("TMPDIR");
        return set == nullptr ? std::nullopt : std::optional<std::string>(set);
    }();
    fs::path path_;
};

std::vector<std::string> removed;
int note_removed(const char* name) {
    removed.emplace_back(name);
    return 0;
}

/// Sends `count` messages one way from another thread, and counts those that arrive whole.
template <class Bell>
std::uint64_t arrive(std::size_t bytes, std::uint64_t count, bool polling) {
    const Plan plan{.bytes = bytes, .polling = polling, .processes = false, .apart = false};
    RingChannel<Bell> ring(plan);
    std::jthread sender([&] {
        typename RingChannel<Bell>::End end(ring, Side::asker);
        Messages messages(Side::asker, bytes);
        for (std::uint64_t number = 1; number <= count; ++number) { end.send(messages.stamped(number)); }
    });
    typename RingChannel<Bell>::End end(ring, Side::answerer);
    Messages messages(Side::answerer, bytes);
    std::uint64_t whole = 0;
    for (std::uint64_t number = 1; number <= count; ++number) {
        end.receive(messages.in());
        if (messages.received(number) && messages.received_whole(number)) { ++whole; }
    }
    return whole;
}

}  // namespace

TEST_CASE("a message of any length shows another number and any damage") {
    for (const std::size_t bytes :
         std::initializer_list<std::size_t>{1, 2, 7, 8, 9, 15, 16, 17, 4096, 4104, 5000, 20'000}) {
        CAPTURE(bytes);
        Messages here(Side::asker, bytes);
        Messages there(Side::answerer, bytes);
        const auto message = here.stamped(5);
        REQUIRE(message.size() == bytes);
        std::ranges::copy(message, there.in().begin());
        CHECK(there.received(5));
        CHECK(there.received_whole(5));
        CHECK_FALSE(there.received(6));
        CHECK_FALSE(there.received_whole(4));
        for (std::size_t at = 0; at < bytes; at += bytes > 20 ? 13 : 1) {
            there.in()[at] ^= std::byte{64};
            CHECK_FALSE(there.received_whole(5));
            there.in()[at] ^= std::byte{64};
        }
        if (bytes > 8 && bytes < 16) { continue; }  // one stamp, at the begin
        there.in().back() ^= std::byte{1};
        CHECK_FALSE(there.received(5));
    }
}

TEST_CASE("one's own message is no answer") {
    Messages here(Side::asker, 64);
    std::ranges::copy(here.stamped(1), here.in().begin());
    CHECK_FALSE(here.received(1));
    CHECK_FALSE(here.received_whole(1));
}

TEST_CASE("each page of a long message shows that it is old") {
    Messages here(Side::asker, 20'000);
    Messages there(Side::answerer, 20'000);
    std::ranges::copy(here.stamped(2), there.in().begin());
    for (std::size_t page = 0; page < 20'000; page += stamp_every) {
        const auto fresh = here.stamped(4);
        std::vector<std::byte> torn(fresh.begin(), fresh.end());
        std::ranges::copy(there.in().subspan(page, 8), torn.begin() + static_cast<std::ptrdiff_t>(page));
        CHECK_FALSE(has_stamps(torn, stamp_of(Side::asker, 4)));
    }
}

TEST_CASE("a ring hands over messages of any length, in order, many times around") {
    for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 8, 56, 57, 64, 5000, most_in_slot,
                                                                      most_in_slot + 1, 300'000}) {
        CAPTURE(bytes);
        const std::uint64_t count = bytes < 10'000 ? 500 : 30;
        CHECK(arrive<NoBell>(bytes, count, true) == count);
        CHECK(arrive<FutexBell>(bytes, count, false) == count);
        CHECK(arrive<FutexBell>(bytes, count, true) == count);
        CHECK(arrive<EventfdBell>(bytes, count, false) == count);
        CHECK(arrive<SemaphoreBell>(bytes, count, false) == count);
    }
}

TEST_CASE("what two Unix sockets hold is what they take before they refuse, and they are empty again") {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
        for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 64, 4096, 200'000}) {
            CAPTURE(type);
            CAPTURE(bytes);
            const SocketPair sockets = socket_pair(type);
            const std::uint64_t held = messages_that_fit(sockets, bytes);
            const std::vector<std::byte> message(std::min<std::size_t>(bytes, 65'536));
            std::uint64_t sent = 0;
            for (ssize_t went = 0; went >= 0; sent += went > 0 ? static_cast<std::uint64_t>(went) : 0) {
                went = ::send(sockets[0].get(), message.data(), message.size(), MSG_DONTWAIT);
            }
            CHECK(held == std::max<std::uint64_t>(1, sent / bytes));
        }
    }
}

TEST_CASE("few bytes are copied, and no other ones touched") {
    for (std::size_t bytes = 0; bytes <= 70; ++bytes) {
        CAPTURE(bytes);
        const std::vector<std::byte> from = pattern_of(Side::asker, bytes);
        const std::vector<std::byte> rest = pattern_of(Side::answerer, 80);
        std::vector<std::byte> to = rest;
        copy_bytes(to.data() + 4, from.data(), bytes);
        CHECK(std::equal(from.begin(), from.end(), to.begin() + 4));
        std::copy_n(rest.begin() + 4, bytes, to.begin() + 4);
        CHECK(to == rest);
    }
}

TEST_CASE("a message of up to 56 bytes lies in one line") {
    const RingShape small(56);
    CHECK(small.stride == line_bytes);
    CHECK(small.payload + 8 <= 64);
    CHECK(RingShape(1 << 20).payload == most_in_slot);
    for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 64, 4096, 1 << 20U}) {
        const std::size_t slots = RingShape(bytes).slots;
        CHECK((slots & (slots - 1)) == 0);
        CHECK(slots >= 8);
    }
}

TEST_CASE("what a launch that is gone has left is removed by its record, which goes too") {
    const OwnTemporaryFolder folder;
    const fs::path record = folder.records(OwnTemporaryFolder::name_of_records(), "left");
    removed.clear();
    { const Record own(Record::Kind::file, note_removed); }
    CHECK(removed == std::vector<std::string>{"/left"});
    CHECK_FALSE(fs::exists(record.parent_path()));
}

TEST_CASE("a record is a file that this user has written, and no link to one") {
    const OwnTemporaryFolder folder;
    const fs::path elsewhere = folder.records("elsewhere", "linked");
    const fs::path record = folder.records(OwnTemporaryFolder::name_of_records(), "another user's");
    const auto nothing_removed = [] {
        removed.clear();
        { const Record own(Record::Kind::file, note_removed); }
        return removed.empty();
    };
    if (::geteuid() == 0) {
        REQUIRE(::chown(record.c_str(), 65534, 65534) == 0);
        CHECK(nothing_removed());
    }
    fs::remove(record);
    fs::create_symlink(elsewhere, record);
    CHECK(nothing_removed());
    CHECK(fs::is_symlink(record));
    fs::remove(record);
    fs::create_directory(record);
    CHECK(nothing_removed());
}

TEST_CASE("a folder that comes to have the records' name after it was looked for is not believed") {
    const OwnTemporaryFolder folder;
    const fs::path record = folder.records("theirs", "victim");
    fs::permissions(record.parent_path(), fs::perms::all);
    removed.clear();
    put_in_the_place_of_one = record.parent_path();
    CHECK_THROWS_WITH_AS(Record(Record::Kind::file, note_removed), doctest::Contains("this user's alone"),
                         toll::Unsupported);
    CHECK(put_in_the_place_of_one.empty());
    CHECK(removed.empty());
}

TEST_CASE("a link in place of the records' folder is not followed") {
    const OwnTemporaryFolder folder;
    const fs::path record = folder.records("elsewhere", "victim");
    fs::create_directory_symlink(record.parent_path(), folder.path() / OwnTemporaryFolder::name_of_records());
    removed.clear();
    CHECK_THROWS_AS(Record(Record::Kind::file, note_removed), toll::Unsupported);
    CHECK(removed.empty());
}

TEST_CASE("a TMPDIR that is no folder is told, and nothing is made elsewhere") {
    const OwnTemporaryFolder folder;
    const fs::path file = folder.path() / "file";
    std::ofstream(file) << "no folder";
    for (const fs::path& none : {file, folder.path() / "missing"}) {
        OwnTemporaryFolder::name(none);
        const std::string told = "TMPDIR=" + none.string() + " is no folder";
        CHECK_THROWS_WITH_AS(FileMemory(4096), doctest::Contains(told.c_str()), toll::Unsupported);
        CHECK_THROWS_WITH_AS(Record(Record::Kind::file, note_removed), doctest::Contains(told.c_str()),
                             toll::Unsupported);
    }
}

TEST_CASE("memory in a file has its room, or is refused") {
    const OwnTemporaryFolder folder;
    constexpr std::size_t bytes = 4096;
    for (const int says : {0, EOPNOTSUPP, EINVAL}) {
        CAPTURE(says);
        fallocate_says = says;
        const FileMemory memory(bytes);
        memory.data()[bytes - 1] = std::byte{1};
    }
    for (const int says : {ENOSPC, EDQUOT}) {
        fallocate_says = says;
        const std::string told = "no room for 4096 bytes in " + folder.path().string();
        CHECK_THROWS_WITH_AS(FileMemory{bytes}, doctest::Contains(told.c_str()), toll::Unsupported);
    }
    fallocate_says = EIO;
    CHECK_THROWS_AS(FileMemory{bytes}, std::system_error);
    fallocate_says = 0;
}
