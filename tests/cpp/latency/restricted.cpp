// Starts a program on less of a machine than this one is, as containers do. Usage: restricted HOW PROGRAM
//   one_cpu      it may use one CPU alone
//   last_cpu     likewise, and it is not the first: the others are another container's, or offline
//   no_affinity  it may not tie its threads to CPUs: sched_setaffinity fails with EPERM (seccomp(2))
//   vain_affinity  it is told that its threads were tied, and none is: sched_setaffinity does nothing
//   quota        it gets half a CPU's time: cgroups(7), for which one has to be root
// The program finds HOW in TOLL_TEST_MACHINE. Exits 77 where this machine cannot be restricted so.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace {

namespace fs = std::filesystem;

bool keep_one_cpu(bool last) {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) { return false; }
    if (last && CPU_COUNT(&usable) < 2) {
        errno = ENODEV;
        return false;
    }
    std::size_t kept = last ? CPU_SETSIZE - 1 : 0;
    while (!CPU_ISSET(kept, &usable)) { last ? --kept : ++kept; }
    CPU_ZERO(&usable);
    CPU_SET(kept, &usable);
    return sched_setaffinity(0, sizeof usable, &usable) == 0;
}

bool write_to(const fs::path& file, const std::string& text) {
    std::ofstream stream(file);
    return static_cast<bool>(stream << text << std::flush);
}

/// A control group of its own in the hierarchy of the processor's time, version 1 or 2, removed in the end.
class HalfACpu {
public:
    HalfACpu() {
        const fs::path root = "/sys/fs/cgroup";
        const std::string name = "toll-test-" + std::to_string(getpid());
        const bool second = fs::exists(root / "cgroup.controllers");
        group_ = (second ? root : root / "cpu") / name;
        std::error_code refused;
        fs::create_directory(group_, refused);
        limited_ = !refused && (second ? write_to(group_ / "cpu.max", "50000 100000")
                                       : write_to(group_ / "cpu.cfs_period_us", "100000") &&
                                             write_to(group_ / "cpu.cfs_quota_us", "50000"));
    }
    HalfACpu(const HalfACpu&) = delete;
    HalfACpu& operator=(const HalfACpu&) = delete;
    ~HalfACpu() {
        std::error_code refused;
        fs::remove(group_, refused);
    }

    /// For the process that shall be limited.
    [[nodiscard]] bool join() const { return limited_ && write_to(group_ / "cgroup.procs", "0"); }

private:
    fs::path group_;
    bool limited_ = false;
};

/// Returns in a child that has half a CPU's time; the parent waits for it, takes the limit away and ends as
/// the child did. In a child that could not be limited it returns false.
bool be_half_a_cpu() {
    pid_t child = 0;
    int status = 0;
    {
        const HalfACpu limit;
        child = fork();
        if (child < 0) { return false; }
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            return limit.join();
        }
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    }
    std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/// What sched_setaffinity answers instead of doing anything; 0 is success.
bool answer_for_affinity(unsigned error) {
    sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{.len = static_cast<unsigned short>(std::size(refuse)), .filter = refuse};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) { return 2; }
    const std::string_view how = argv[1];
    const bool restricted = how == "one_cpu"         ? keep_one_cpu(false)
                            : how == "last_cpu"      ? keep_one_cpu(true)
                            : how == "quota"         ? be_half_a_cpu()
                            : how == "vain_affinity" ? answer_for_affinity(0)
                                                     : how == "no_affinity" && answer_for_affinity(EPERM);
    if (!restricted) {
        std::perror(argv[1]);
        return 77;
    }
    setenv("TOLL_TEST_MACHINE", argv[1], 1);
    execv(argv[2], argv + 2);
    std::perror(argv[2]);
    return 1;
}
