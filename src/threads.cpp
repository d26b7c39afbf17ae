#include "toll/threads.hpp"

#include <sched.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "toll/errors.hpp"

namespace toll {
namespace {

// sched_getaffinity fails where the mask is smaller than the kernel's; 16 Ki CPUs hold any machine.
constexpr std::size_t most_cpus = std::size_t{16} * 1024;
constexpr std::size_t set_bytes = most_cpus / 8;

// On the stack: threads tie themselves within what is counted as a contender's allocations.
class CpuSet {
public:
    CpuSet() { CPU_ZERO_S(set_bytes, get()); }
    [[nodiscard]] cpu_set_t* get() { return sets_.data(); }
    [[nodiscard]] bool holds(int cpu) { return CPU_ISSET_S(static_cast<std::size_t>(cpu), set_bytes, get()); }
    [[nodiscard]] int count() { return CPU_COUNT_S(set_bytes, get()); }

private:
    static_assert(set_bytes % sizeof(cpu_set_t) == 0);
    std::array<cpu_set_t, set_bytes / sizeof(cpu_set_t)> sets_;
};

bool read_cpus_of_this_thread(CpuSet& into) {
    return sched_getaffinity(0, set_bytes, into.get()) == 0;
}

void set_cpus_of_this_thread(std::span<const int> cpus) {
    CpuSet wanted;
    for (const int cpu : cpus) {
        if (cpu < 0 || static_cast<std::size_t>(cpu) >= most_cpus) {
            throw Unsupported("there is no CPU " + std::to_string(cpu));
        }
        CPU_SET_S(static_cast<std::size_t>(cpu), set_bytes, wanted.get());
    }
    if (sched_setaffinity(0, set_bytes, wanted.get()) != 0) {
        throw Unsupported("a thread cannot be tied to CPU " +
                          (cpus.empty() ? std::string("(none)") : std::to_string(cpus.front())) + ": " +
                          std::strerror(errno));
    }
}

std::vector<int> cpus_now() {
    CpuSet mine;
    if (!read_cpus_of_this_thread(mine)) { return {0}; }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < static_cast<int>(most_cpus); ++cpu) {
        if (mine.holds(cpu)) { cpus.push_back(cpu); }
    }
    return cpus;
}

// Before main(), hence before anybody can have tied a thread.
[[maybe_unused]] const std::vector<int>& asked_at_start = usable_cpus();

}  // namespace

const std::vector<int>& usable_cpus() {
    static const std::vector<int> at_start = cpus_now();
    return at_start;
}

void pin_this_thread(int cpu) {
    set_cpus_of_this_thread(std::span(&cpu, 1));
    // A kernel in between (gVisor, a seccomp filter) may say yes and do nothing.
    CpuSet now;
    if (!read_cpus_of_this_thread(now) || now.count() != 1 || !now.holds(cpu)) {
        throw Unsupported("a thread was tied to CPU " + std::to_string(cpu) +
                          ", and the kernel says that it may run on " + cpu_list(cpus_now()));
    }
}

std::string cpus_of_this_thread() {
    std::string text;
    for (const int cpu : cpus_now()) { text += (text.empty() ? "" : ",") + std::to_string(cpu); }
    return text;
}

std::string cpu_list(std::span<const int> cpus) {
    constexpr std::size_t most_letters = 200;
    std::string text;
    for (std::size_t first = 0; first < cpus.size();) {
        if (text.size() > most_letters) {
            return text + " and " + std::to_string(cpus.size() - first) + " more";
        }
        std::size_t last = first;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) { ++last; }
        if (last < first + 2) { last = first; }  // two side by side are no range
        text += (first == 0 ? "" : ",") + std::to_string(cpus[first]);
        if (last > first) { text += "-" + std::to_string(cpus[last]); }
        first = last + 1;
    }
    return text;
}

PinnedHere::PinnedHere(int cpu) : former_(cpus_now()) {
    pin_this_thread(cpu);
}

PinnedHere::~PinnedHere() {
    try {
        set_cpus_of_this_thread(former_);
    } catch (const Unsupported&) {
        // A cgroup took the former CPUs away meanwhile; staying where we are is all that is left.
    }
}

UntiedHere::UntiedHere() : former_(cpus_now()) {
    if (former_ == usable_cpus()) {
        former_.clear();  // nothing to do, nor to undo: where tying is forbidden nobody is tied
    } else {
        set_cpus_of_this_thread(usable_cpus());
    }
}

UntiedHere::~UntiedHere() {
    if (former_.empty()) { return; }
    try {
        set_cpus_of_this_thread(former_);
    } catch (const Unsupported&) {
        // As above; who then is where it should not be is found at the end of its launch.
    }
}

struct Crew::Shared {
    std::mutex mutex;
    std::condition_variable changed;  // for members: another generation, or the end
    std::condition_variable done;     // for run(): else the last member would wake those who wait for work
    const Work* work = nullptr;
    unsigned generation = 0;
    unsigned ready = 0;     // members that wait for the gate of this generation
    unsigned finished = 0;  // members that are through with it
    bool ending = false;
    std::exception_ptr failure;
    std::atomic<unsigned> gate{0};     // the generation that may begin
    std::vector<std::thread> threads;  // not std::jthread, which libc++ has only since version 20

    void serve(unsigned member, unsigned members);
    void make(unsigned member, unsigned members);
    void note(std::exception_ptr what) {
        const std::scoped_lock lock(mutex);
        if (!failure) { failure = std::move(what); }
    }
    void end() {
        {
            const std::scoped_lock lock(mutex);
            ending = true;
        }
        changed.notify_all();
        for (std::thread& thread : threads) { thread.join(); }
        threads.clear();
    }
};

void Crew::Shared::serve(unsigned member, unsigned members) {
    for (unsigned seen = 0;;) {
        const Work* mine = nullptr;
        {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return ending || generation != seen; });
            if (ending) { return; }
            seen = generation;
            mine = work;
            if (++ready == members) { gate.store(seen, std::memory_order_release); }
        }
        // Leaving a barrier by spinning puts the members within a cache miss of each other; yield
        // lets the last one arrive where there are fewer CPUs than members. (To yield now and then alone,
        // where there are as many, changed no time that could be seen, beside a load too.)
        while (gate.load(std::memory_order_acquire) != seen) { std::this_thread::yield(); }
        try {
            (*mine)(member);
        } catch (...) { note(std::current_exception()); }
        const std::scoped_lock lock(mutex);
        if (++finished == members) { done.notify_one(); }
    }
}

void Crew::Shared::make(unsigned member, unsigned members) {
    try {
        threads.emplace_back([this, member, members] { serve(member, members); });
    } catch (const std::system_error& refusal) {
        throw std::system_error(refusal.code(), "thread " + std::to_string(member + 1) + " of " +
                                                    std::to_string(members) + " cannot be made");
    }
}

Crew::Crew(unsigned members, std::span<const int> pins) : shared_(std::make_unique<Shared>()) {
    shared_->threads.reserve(members);
    try {
        for (unsigned member = 0; member < members; ++member) { shared_->make(member, members); }
        if (!pins.empty()) {
            run([&](unsigned member) { pin_this_thread(pins[member % pins.size()]); });
        }
    } catch (...) {
        shared_->end();
        throw;
    }
}

Crew::~Crew() {
    shared_->end();
}

void Crew::run(const Work& work) {
    if (members() == 0) { return; }
    std::unique_lock lock(shared_->mutex);
    shared_->work = &work;
    shared_->ready = 0;
    shared_->finished = 0;
    shared_->failure = nullptr;
    ++shared_->generation;
    shared_->changed.notify_all();
    shared_->done.wait(lock, [&] { return shared_->finished == members(); });
    if (shared_->failure) { std::rethrow_exception(shared_->failure); }
}

unsigned Crew::arrived() const {
    const std::scoped_lock lock(shared_->mutex);
    return shared_->ready;
}

unsigned Crew::members() const noexcept {
    return static_cast<unsigned>(shared_->threads.size());
}

}  // namespace toll
