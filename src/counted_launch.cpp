// toll_counted_launch: runs a command and tells what the kernel counted for it and all that it started.
//
//   toll_counted_launch OUT TYPE:CONFIG COMMAND ...
//   toll_counted_launch --work                       work of a known size: is anything counted?
//
// OUT gets "VALUE ENABLED_NS RUNNING_NS", or "error ERRNO".
//
// It ends as the command ended. Counting begins when the command replaces the child of this program.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "perf_counter.hpp"

namespace {

constexpr int not_counted = 125;  // as env and timeout do
constexpr int not_started = 127;
constexpr int turns = 1'000'000;
constexpr std::size_t pages = 1000;

/// At least `turns` instructions and, the first time, `pages` page faults.
int work() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* block = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) { return 1; }
    madvise(block, pages * page, MADV_NOHUGEPAGE);
    auto* bytes = static_cast<volatile char*>(block);
    for (std::size_t at = 0; at < pages; ++at) { bytes[at * page] = 1; }
    volatile int turned = 0;
    for (int turn = 0; turn < turns; ++turn) { turned = turn; }
    (void)turned;
    return 0;
}

bool told(const char* path, const char* text) {
    const int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0) { return false; }
    const auto length = static_cast<ssize_t>(std::strlen(text));
    const bool whole = write(out, text, static_cast<std::size_t>(length)) == length;
    return close(out) == 0 && whole;
}

/// The child, once it may: what it does until then is not counted.
[[noreturn]] void become(char** command, int may_begin) {
    char letter = 0;
    // NOLINTNEXTLINE(clang-analyzer-optin.taint.GenericTaint): whoever starts this says what it becomes
    if (read(may_begin, &letter, 1) == 1) { execvp(command[0], command); }
    _exit(not_started);
}

int end_as(int status) {
    if (!WIFSIGNALED(status)) { return WEXITSTATUS(status); }
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    std::signal(WTERMSIG(status), SIG_DFL);
    (void)std::raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

int counted(const char* out, const char* event, char** command) {
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) != 0) { return not_counted; }
    const pid_t child = fork();
    if (child < 0) { return not_counted; }
    if (child == 0) {
        close(gate[1]);
        become(command, gate[0]);
    }
    const int counter = toll_perf::opened(event, child, toll_perf::Scope::processes);
    char text[100];
    if (counter < 0) {
        std::snprintf(text, sizeof text, "error %d\n", -counter);
        (void)told(out, text);
    } else {
        (void)!write(gate[1], "x", 1);
    }
    close(gate[0]);
    close(gate[1]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) { return not_counted; }
    }
    if (counter < 0) { return not_counted; }
    toll_perf::Count count;
    if (!toll_perf::read_count(counter, &count)) { return not_counted; }
    std::snprintf(text, sizeof text, "%llu %llu %llu\n", static_cast<unsigned long long>(count.value),
                  static_cast<unsigned long long>(count.enabled_ns),
                  static_cast<unsigned long long>(count.running_ns));
    return told(out, text) ? end_as(status) : not_counted;
}

}  // namespace

int main(int count, char** words) {
    if (count == 2 && std::strcmp(words[1], "--work") == 0) { return work(); }
    if (count < 4) { return not_counted; }
    return counted(words[1], words[2], words + 3);
}
