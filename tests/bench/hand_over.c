/* Two processes that each work for a while when it is their turn: what passing the turn costs, us, median.
 *
 *     hand_over relay TURNS WORK_NS     a third process reads from the one and writes to the other
 *     hand_over token TURNS WORK_NS     each writes to the other; the third one only reads what they measured
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { to_first, from_first, to_second, from_second, pipes };

static long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static int compare(const void* a, const void* b) {
    const long x = *(const long*)a, y = *(const long*)b;
    return (x > y) - (x < y);
}

static void must(int good, const char* what) {
    if (good) { return; }
    perror(what);
    exit(1);
}

static pid_t worker(int in, int out, int told, long work_ns) {
    const pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid) { return pid; }
    char turn;
    while (read(in, &turn, 1) == 1) {
        for (const long ends = now(CLOCK_THREAD_CPUTIME_ID) + work_ns; now(CLOCK_THREAD_CPUTIME_ID) < ends;) {}
        if (write(out, &turn, 1) != 1 || (told >= 0 && write(told, &turn, 1) != 1)) { break; }
    }
    _exit(0);
}

int main(int argc, char** argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: hand_over relay|token TURNS WORK_NS\n");
        return 2;
    }
    const int token = !strcmp(argv[1], "token"), turns = atoi(argv[2]);
    const long work_ns = atol(argv[3]);
    int end[pipes][2];
    for (int i = 0; i < pipes; i++) { must(!pipe(end[i]), "pipe"); }
    const int after_first = token ? to_second : from_first, after_second = token ? to_first : from_second;
    const pid_t first = worker(end[to_first][0], end[after_first][1], -1, work_ns);
    const pid_t second =
        worker(end[to_second][0], end[after_second][1], token ? end[from_second][1] : -1, work_ns);
    long* took = malloc(sizeof *took * (size_t)turns);
    must(took != NULL, "malloc");
    char turn = 't';
    if (token) { must(write(end[to_first][1], &turn, 1) == 1, "write"); }
    long before = now(CLOCK_MONOTONIC);
    for (int i = 0; i < turns; i++) {  /* each: a turn of both */
        for (int side = token; side < 2; side++) {
            const int answer = end[side ? from_second : from_first][0];
            if (!token) { must(write(end[side ? to_second : to_first][1], &turn, 1) == 1, "write"); }
            struct pollfd ready = {answer, POLLIN, 0};
            must(poll(&ready, 1, 10000) == 1 && read(answer, &turn, 1) == 1, "read");
        }
        const long at = now(CLOCK_MONOTONIC);
        took[i] = (at - before) / 2 - work_ns;
        before = at;
    }
    qsort(took, (size_t)turns, sizeof *took, compare);
    printf("%.1f\n", (double)took[turns / 2] / 1e3);
    kill(first, SIGKILL);
    kill(second, SIGKILL);
    return 0;
}
