// Starts a program on less of a machine than this one is, as containers do. Usage: restricted HOW PROGRAM
//   one_cpu      it may use one CPU alone
//   no_affinity  it may not tie its threads to CPUs: sched_setaffinity fails with EPERM (seccomp(2))
// The program finds HOW in TOLL_TEST_MACHINE. Exits 77 where this machine cannot be restricted so.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace {

bool keep_one_cpu() {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) { return false; }
    std::size_t first = 0;
    while (first < CPU_SETSIZE && !CPU_ISSET(first, &usable)) { ++first; }
    CPU_ZERO(&usable);
    CPU_SET(first, &usable);
    return sched_setaffinity(0, sizeof usable, &usable) == 0;
}

bool refuse_affinity() {
    sock_filter refuse[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
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
    if (!(how == "one_cpu" ? keep_one_cpu() : how == "no_affinity" && refuse_affinity())) {
        std::perror(argv[1]);
        return 77;
    }
    setenv("TOLL_TEST_MACHINE", argv[1], 1);
    execv(argv[2], argv + 2);
    std::perror(argv[2]);
    return 1;
}
