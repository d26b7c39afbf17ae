// libtoll_counts.so: says where the runs of a benchmark begin and end, in a program that was not built for
// it. Preloaded for counting only, never while anything is timed.
//
// Google Benchmark (1.5 and later, with --v=2) writes "Running NAME for N" before it calls a benchmark with N
// iterations, and "Ran in ..." behind it. Each piece of such a line is one fwrite to stderr, so that whoever
// stands before fwrite knows the moment. Nothing else of the program is touched; with callgrind, what this
// library itself executes is left out by its name.
//
//   TOLL_COUNTS_OUT       files OUT.PID get a line a run: see `tell`
//   TOLL_COUNTS_RUNS      where a run more than so many would begin, the process ends (exit code 0) and tells
//                         "enough": all sides do the same work, and an error in the last run is not missed
//   TOLL_COUNTS_NEXT_NS   so it does where the next run, of ten times as many, would take more CPU time
//   TOLL_COUNTS_PLAN      the program is Catch2's, which plans a benchmark by runs of 1, 2, 4, 8 and so on
//                         iterations, each between two looks at the clock, until one is long enough by that
//                         clock. The clock is ours: "SECTION:DOUBLINGS" makes the runs of the benchmark with
//                         that number (of all, without one) double so often, and every launch looks at it
//                         equally often
//   TOLL_COUNTS_TENFOLD   the program is nanobench's, see tenfold_runs.hpp: "SECTION:RUNS" makes so many runs
//                         of that section's benchmark (of all, without one), each of ten times the iterations
//   TOLL_COUNTS_EVENT     "TYPE:CONFIG" of perf_event_open: what the kernel is to count in each run, told as
//                         toll_perf::Marks does, behind the run's own line
//   TOLL_COUNTS_WHOLE     allocations are those of the whole process, told when it ends
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "allocations_preload.hpp"
#include "perf_counter.hpp"
#include "tenfold_runs.hpp"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(text) (void)(text)
#endif

namespace {

using Write = std::size_t (*)(const void*, std::size_t, std::size_t, FILE*);
using Leave = void (*)(int);
using ReadClock = int (*)(clockid_t, timespec*);

enum class Place { between, in_line, running };
constexpr char log_begins[] = "-- LOG(";  // "-- LOG(2): Running NAME for N\n", in pieces
constexpr char log_level_ends[] = "): ";

Write next_write = nullptr;
Leave next_leave = nullptr;
ReadClock next_clock = nullptr;
int out = -1;
pid_t teller = 0;
bool whole = false;
std::uint64_t runs_wanted = 0;
std::uint64_t runs = 0;
std::uint64_t longest_next_ns = 0;
bool enough = false;
Place place = Place::between;
bool log_line =
    false;  // the piece before was the last of a log line's begin: programs print "Running" as well
char line[512];
std::size_t line_used = 0;
std::uint64_t began_ns = 0;
std::uint64_t began_cpu_ns = 0;
std::uint64_t took_ns = 0;
TollAllocations allocated{};
toll_perf::Marks executed;
std::uint64_t longer = 10;  // the next run's iterations, and the time that others may take of it

// Catch2's XML report: <BenchmarkResults name="..." (it plans) ...><!--All values in nano seconds--> (it
// takes samples) <mean ...
enum class Report { elsewhere, planning, sampling };
constexpr std::uint64_t look_ns =
    100'000;  // by which each look moves the clock: Catch2 takes it for its tick
constexpr std::uint64_t long_enough_ns = 999 * look_ns + 1000;  // beside a look: 1,000 ticks and a bit
constexpr std::uint64_t every_section = ~std::uint64_t{0};
bool clock_is_ours = false;
std::uint64_t our_clock_ns = 0;
Report report = Report::elsewhere;
std::uint64_t wanted_section = every_section;
std::uint64_t doublings = 0;
std::uint64_t section = 0;
std::uint64_t looks = 0;      // in this part of the report
std::uint64_t long_ones = 0;  // runs that were told to be long enough: one, unless the program looks as well
bool tag_closes = false;      // the piece before was "</"
[[gnu::tls_model("initial-exec")]] thread_local bool is_first_thread = false;

// nanobench's
bool is_tenfold = false;
toll_tenfold::Looks tenfold;
bool has_looked = false;                        // since text was last written to stdout
bool wanted_told = false;                       // the wanted benchmark has run, and its row is written
constexpr std::uint64_t tenfold_of_others = 2;  // runs: the first one always takes no time by our clock

std::uint64_t number_from(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

bool begins(const char* text, std::size_t length, const char* with) {
    std::size_t at = 0;
    while (with[at] != '\0') {
        if (at == length || text[at] != with[at]) { return false; }
        ++at;
    }
    return true;
}

/// Whether malloc is the counting library's: a program may bring one of its own, which comes before it.
bool malloc_is_counted() {
    Dl_info counter{};
    Dl_info used{};
    return toll_allocations_start != nullptr &&
           dladdr(reinterpret_cast<const void*>(toll_allocations_start), &counter) != 0 &&
           dladdr(dlsym(RTLD_DEFAULT, "malloc"), &used) != 0 && counter.dli_fbase == used.dli_fbase;
}

/// "calls bytes peak_bytes ns malloc_is_counted text". The text ends the line.
void tell(const TollAllocations& seen, std::uint64_t nanoseconds, const char* text) {
    char record[800];
    const int length = std::snprintf(
        record, sizeof record, "%llu %llu %llu %llu %d %s\n", static_cast<unsigned long long>(seen.calls),
        static_cast<unsigned long long>(seen.bytes), static_cast<unsigned long long>(seen.peak_bytes),
        static_cast<unsigned long long>(nanoseconds), malloc_is_counted() ? 1 : 0, text);
    (void)!::write(out, record, static_cast<std::size_t>(length));
}

std::uint64_t now_ns(clockid_t clock) {
    timespec now{};
    next_clock(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void run_begins() {
    place = Place::running;
    began_ns = now_ns(CLOCK_MONOTONIC);
    began_cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (toll_allocations_start != nullptr) { toll_allocations_start(); }
    CALLGRIND_ZERO_STATS;
    executed.begin();
}

/// Returns whether the next run would take too long.
bool run_is_cut() {
    executed.end();
    CALLGRIND_DUMP_STATS_AT("toll");
    allocated = {};
    if (toll_allocations_stop != nullptr) { toll_allocations_stop(&allocated); }
    took_ns = now_ns(CLOCK_MONOTONIC) - began_ns;
    const std::uint64_t took_cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - began_cpu_ns;
    place = Place::between;
    // CPU time, so that a busy machine makes the same runs; waiting is given ten times as long.
    return longest_next_ns != 0 && (took_cpu_ns * longer > longest_next_ns || took_ns > longest_next_ns);
}

void tell_run(const char* text) {
    tell(allocated, took_ns, text);
    if (const char* counted = executed.told()) { tell({}, 0, counted); }
}

void run_ends() {
    const bool too_long = run_is_cut();
    tell_run(line);
    ++runs;
    enough = runs == runs_wanted || too_long;
}

bool is(const char* text, std::size_t length, const char* wanted) {
    std::size_t at = 0;
    while (at < length && wanted[at] != '\0' && text[at] == wanted[at]) { ++at; }
    return at == length && wanted[at] == '\0';
}

bool in_wanted_section() {
    return wanted_section == every_section || wanted_section == section;
}

/// One piece of what is written to stdout.
void look_at_report(const char* text, std::size_t length) {
    if (is(text, length, "BenchmarkResults") && !tag_closes) {
        report = Report::planning;
        looks = long_ones = runs = 0;
        enough = false;
    } else if (report == Report::planning && is(text, length, "All values in nano seconds")) {
        report = Report::sampling;
        std::snprintf(line, sizeof line, "Planned %llu %llu %llu", static_cast<unsigned long long>(section),
                      static_cast<unsigned long long>(looks), static_cast<unsigned long long>(long_ones));
        tell({}, 0, line);
    } else if (report == Report::sampling && is(text, length, "mean")) {
        report = Report::elsewhere;
        ++section;
    }
    tag_closes = is(text, length, "</");
}

/// The clock of Catch2: each look moves it by as much, and where planning has to end by far more.
std::uint64_t looked_at_our_clock() {
    our_clock_ns += look_ns;
    if (report != Report::planning) { return our_clock_ns; }
    const bool counts = in_wanted_section();
    if (++looks % 2 == 1) {
        if (counts) {
            std::snprintf(line, sizeof line, "Doubled %llu %llu", static_cast<unsigned long long>(section),
                          static_cast<unsigned long long>(runs));
            run_begins();
        }
        return our_clock_ns;
    }
    if (counts) { run_ends(); }
    if (!counts || enough || runs > doublings) {
        our_clock_ns += long_enough_ns;
        ++long_ones;
    }
    return our_clock_ns;
}

bool objects_told = false;

void tell_object(const char* path) {
    char record[4200];
    const int length = std::snprintf(record, sizeof record, "0 0 0 0 1 object %s\n", path);
    if (length < static_cast<int>(sizeof record)) {
        (void)!::write(out, record, static_cast<std::size_t>(length));
    }
}

/// "object PATH" of the program and of each library in it: one may hide an allocator. A child is not its own.
void tell_objects() {
    if (objects_told || out < 0 || getpid() != teller) { return; }
    objects_told = true;
    char program[4100];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) { return; }
    program[length] = '\0';
    tell_object(program);
    const auto each = [](dl_phdr_info* object, std::size_t, void*) {
        if (object->dlpi_name != nullptr && object->dlpi_name[0] == '/') { tell_object(object->dlpi_name); }
        return 0;
    };
    dl_iterate_phdr(each, nullptr);
}

[[noreturn]] void leave_well() {
    tell_objects();
    tell({}, 0, "enough");
    next_leave(0);
    for (;;) {}
}

/// nanobench's clock, told of every look: which of them stand around a run is known by where they come from.
std::uint64_t looked_at_tenfold_clock() {
    const bool was_counted = place == Place::running;
    const bool too_long = was_counted && run_is_cut();
    if (wanted_told) {
        std::fflush(stdout);
        leave_well();
    }
    has_looked = true;
    const bool counts = in_wanted_section();
    const toll_tenfold::Look seen = tenfold.look(toll_tenfold::site(), now_ns(CLOCK_MONOTONIC),
                                                 counts ? runs_wanted : tenfold_of_others, too_long);
    if (was_counted) {
        std::snprintf(line, sizeof line, seen.ends_run ? "Tenfold %llu %llu %llu" : "Other %llu %llu %llu",
                      static_cast<unsigned long long>(section),
                      static_cast<unsigned long long>(tenfold.group()),
                      static_cast<unsigned long long>(tenfold.pairs()));
        tell_run(line);
    }
    if (counts && seen.may_begin_run) { run_begins(); }
    return seen.answer_ns;
}

/// The first piece of a table's row behind looks: of the benchmark that ended, which is told where it begins.
void mark_row(const char* text, std::size_t length) {
    if (!has_looked || !begins(text, length, "|")) { return; }
    has_looked = false;
    if (place == Place::running) {  // it prints a table while it runs, or looked without a run
        (void)run_is_cut();
        tell_run("Other");
    }
    char mark[100];
    const int written = std::snprintf(
        mark, sizeof mark, "\x1etoll %llu %llu %llu\x1e", static_cast<unsigned long long>(section),
        static_cast<unsigned long long>(tenfold.group()),
        static_cast<unsigned long long>(tenfold.is_whole() ? tenfold.pairs() : 0));
    next_write(mark, 1, static_cast<std::size_t>(written), stdout);
    wanted_told = wanted_section == section;
    ++section;
    tenfold.forget();
}

void before_text(const char* text, std::size_t length) {
    if (place == Place::running) {
        if (begins(text, length, log_begins)) { run_ends(); }
    } else if (place == Place::between && log_line && begins(text, length, "Running ")) {
        if (enough) { leave_well(); }
        place = Place::in_line;
        line_used = 0;
    }
    log_line = length == sizeof log_level_ends - 1 && begins(text, length, log_level_ends);
}

void after_text(const char* text, std::size_t length) {
    if (place != Place::in_line) { return; }
    for (std::size_t at = 0; at < length; ++at) {
        if (text[at] == '\n') {
            line[line_used] = '\0';
            run_begins();
            return;
        }
        if (line_used + 1 < sizeof line) { line[line_used++] = text[at]; }
    }
}

/// The last word of a process whose allocations are counted as a whole. A child of vfork is not its own.
void tell_at_end() {
    if (!whole || out < 0 || getpid() != teller || toll_allocations_stop == nullptr) {
        tell_objects();
        return;
    }
    whole = false;
    TollAllocations seen{};
    toll_allocations_stop(&seen);
    tell_objects();
    tell(seen, 0, "whole");
}

void open_file() {
    const char* prefix = std::getenv("TOLL_COUNTS_OUT");
    if (prefix == nullptr) { return; }
    char path[4200];
    std::snprintf(path, sizeof path, "%s.%d", prefix, static_cast<int>(getpid()));
    out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    teller = getpid();
}

void after_fork() {
    if (!whole || toll_allocations_start == nullptr) { return; }
    close(out);
    objects_told = false;
    open_file();
    tell({}, 0, "began");
    toll_allocations_start();
}

/// "SECTION:NUMBER" or ":NUMBER"; of the clock of the first thread.
bool take_clock(const char* plan, std::uint64_t* number) {
    if (plan == nullptr || next_clock == nullptr) { return false; }
    char* behind = nullptr;
    const std::uint64_t of = std::strtoull(plan, &behind, 10);
    if (*behind != ':') { return false; }
    if (behind != plan) { wanted_section = of; }
    *number = std::strtoull(behind + 1, nullptr, 10);
    is_first_thread = true;
    our_clock_ns = now_ns(CLOCK_MONOTONIC);
    clock_is_ours = true;
    return true;
}

[[gnu::constructor]] void begin() {
    next_write = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "fwrite"));
    next_clock = reinterpret_cast<ReadClock>(dlsym(RTLD_NEXT, "clock_gettime"));
    next_leave = reinterpret_cast<Leave>(dlsym(RTLD_NEXT, "_exit"));
    open_file();
    if (const char* text = executed.open_as_asked()) { tell({}, 0, text); }
    runs_wanted = number_from("TOLL_COUNTS_RUNS");
    if (take_clock(std::getenv("TOLL_COUNTS_PLAN"), &doublings)) { longer = 2; }
    is_tenfold = take_clock(std::getenv("TOLL_COUNTS_TENFOLD"), &runs_wanted);
    longest_next_ns = number_from("TOLL_COUNTS_NEXT_NS");
    whole = std::getenv("TOLL_COUNTS_WHOLE") != nullptr && toll_allocations_start != nullptr;
    if (whole) {
        pthread_atfork(nullptr, nullptr, after_fork);
        tell({}, 0, "began");
        toll_allocations_start();
    }
}

[[gnu::destructor]] void end() {
    tell_at_end();
}

}  // namespace

extern "C" {

std::size_t fwrite(const void* data, std::size_t size, std::size_t count, FILE* stream) {
    if (next_write == nullptr) { next_write = reinterpret_cast<Write>(dlsym(RTLD_NEXT, "fwrite")); }
    if (next_write == nullptr) { return 0; }
    // Of the thread whose clock is ours alone: what another one prints is no row of a benchmark that was
    // timed here.
    if (stream == stdout && is_first_thread) {
        if (is_tenfold) {
            mark_row(static_cast<const char*>(data), size * count);
        } else {
            look_at_report(static_cast<const char*>(data), size * count);
        }
    }
    if (stream != stderr || runs_wanted == 0 || is_tenfold) { return next_write(data, size, count, stream); }
    before_text(static_cast<const char*>(data), size * count);
    const std::size_t written = next_write(data, size, count, stream);
    after_text(static_cast<const char*>(data), size * count);
    return written;
}

int clock_gettime(clockid_t clock, timespec* into) {
    if (next_clock == nullptr) {
        next_clock = reinterpret_cast<ReadClock>(dlsym(RTLD_NEXT, "clock_gettime"));
    }
    if (next_clock == nullptr) { return -1; }
    if (!clock_is_ours || clock != CLOCK_MONOTONIC || !is_first_thread) { return next_clock(clock, into); }
    const std::uint64_t now = is_tenfold ? looked_at_tenfold_clock() : looked_at_our_clock();
    into->tv_sec = static_cast<time_t>(now / 1'000'000'000);
    into->tv_nsec = static_cast<long>(now % 1'000'000'000);
    return 0;
}

[[gnu::noreturn]] void _exit(int code) {
    tell_at_end();
    if (next_leave != nullptr) { next_leave(code); }
    for (;;) { syscall(SYS_exit_group, code); }
}

}  // extern "C"
