// Two processes, or two threads of one, with a channel between them; kept in step outside the timed part.
#pragma once

#include "../../latency/shared/placement.hpp"
#include "../../latency/shared/sleeper.hpp"
#include "ipc_channel.hpp"
#include "shared_memory.hpp"
#include "stamped_message.hpp"
#include "watch.hpp"

#include <toll/clock.hpp>
#include <toll/contender.hpp>
#include <toll/errors.hpp>
#include <toll/resources.hpp>
#include <toll/threads.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

namespace toll::ipc {

/// What the answerer does with the messages of a request.
enum class Errand : std::uint32_t {
    answer,         ///< answers each at once
    answer_asleep,  ///< answers each once the asker is seen asleep
    take,           ///< takes them
    end,
};

/// What the two sides tell each other beside the channel. In memory that both share.
struct Control {
    enum class State : std::uint32_t { starting, ready, unsupported, failed };

    alignas(line_bytes) Word requests{0};  ///< how many were made; what follows is written before it grows
    Errand errand{};
    std::uint64_t first = 0;  ///< number of the first message
    std::uint64_t count = 0;

    alignas(line_bytes) Word answers{0};  ///< how many requests are done; likewise
    std::uint64_t right = 0;              ///< messages with the right contents
    Resources used;                       ///< of the answerer, where it is a process
    pid_t thread = 0;                     ///< the answerer's, written before `state` says that it is ready
    std::int64_t threads = 0;             ///< likewise, of its process
    bool sees_call = false;               ///< likewise: it sees the system call that the asker sleeps in
    int cpu = -1;                         ///< where it ran when the last request was done

    alignas(line_bytes) Word state{0};
    char why[400] = {};  ///< written before `state` says that something went wrong

    alignas(line_bytes) Word spins{0};  ///< the next request comes at once: the answerer is to spin for it
    Word spinning{0};                   ///< its echo

    alignas(line_bytes) std::atomic<Ticks> away{0};  ///< what the answerer did before its answer
    Watched watched;
};

/// Plan of a launch by its arguments; `polling` as the workload has it, `carriers` as the channel.
inline Plan plan_of(const Arguments& arguments, bool polling, std::size_t carriers,
                    const latency::PlacedPair& place) {
    const std::string& between = arguments.text("between");
    if (between != "processes" && between != "threads") {
        throw Unsupported("between is processes or threads, got " + between);
    }
    if (polling && !place.apart()) {
        throw Unsupported(
            "who polls keeps the CPU that the other side needs: on one CPU the scheduler's time slice would "
            "be "
            "measured" +
            (place.refusal().empty() ? std::string() : "; " + place.refusal()));
    }
    const std::size_t usable = usable_cpus().size();
    if (polling && usable < 2 * (1 + carriers)) {
        throw Unsupported(
            "the two sides that poll keep a CPU each, and the library's own threads, through which "
            "each message goes, would need " +
            std::to_string(2 * carriers) + " more: this process may use " + std::to_string(usable) + " CPUs");
    }
    return {.bytes = arguments.number("bytes", 1, std::uint64_t{1} << 30),
            .polling = polling,
            .processes = between == "processes",
            .apart = place.apart()};
}

/// How many threads this process has; 0 where the kernel does not show it.
inline std::int64_t threads_here() {
    std::error_code none;
    const std::filesystem::directory_iterator tasks("/proc/self/task", none);
    return std::distance(begin(tasks), end(tasks));
}

/// The parameters of every workload of the topic.
inline Parameter bytes_parameter() {
    return {"bytes", "64", "bytes", "length of a message, known to both sides"};
}
inline Parameter between_parameter() {
    return {"between", "processes", "",
            "processes: a process and its child; threads: two threads of one process"};
}

/// The asker's view of both. The answerer lives as long as this, and dies with the process that made it,
/// however that ends.
template <Channel C>
class TwoSides {
public:
    TwoSides(const Arguments& arguments, bool polling) : room_(std::make_shared<Room>(arguments, polling)) {
        if (threads_only<C> && room_->plan.processes) {
            throw Unsupported("two processes cannot share this one: --set between=threads");
        }
        Watched& watched = control().watched;
        watched.busy.store(true);
        const std::int64_t before = threads_here() - 1;  // beside the asker
        start();
        try {
            const UntiedHere untied;  // a library's own threads shall not all be on the side's one CPU
            watch_.emplace(watched, child_, most_looks<C>(), [this] { leave_nothing(room_->channel); });
            end_ = std::make_unique<typename C::End>(room_->channel, Side::asker);
            await_ready();
            constexpr std::int64_t watching = 1;  // that of `watch_`, which sleeps
            threads_ = threads_here() - before - watching + (plan().processes ? control().threads : 0);
        } catch (...) {
            abandon();
            throw;
        }
        watched.busy.store(false);
    }
    TwoSides(const TwoSides&) = delete;
    TwoSides& operator=(const TwoSides&) = delete;

    ~TwoSides() {
        if (under_way_) {
            abandon();
            return;
        }
        control().watched.may_end.store(true, std::memory_order_release);
        request(Errand::end, 0, 0);
        end_.reset();
        watch_.reset();
        if (peer_.joinable()) { peer_.join(); }
        if (child_ != 0) { reap(); }
    }

    /// Has the answerer awake, and spinning for the next request, where it has a CPU of its own: else a batch
    /// would begin with its wake-up. let_sleep() belongs to it.
    void keep_awake() noexcept {
        if (!plan().apart) { return; }
        Control& told = control();
        told.spins.store(1);
        told.watched.busy.store(true, std::memory_order_relaxed);
        while (told.spinning.load() == 0) {
            wake_one(told.requests);
            plan().relax();
        }
        told.watched.busy.store(false, std::memory_order_relaxed);
    }
    void let_sleep() noexcept {
        Control& told = control();
        told.spins.store(0);
        if (under_way_) {
            return;
        }  // the request failed: the answerer may wait for a message that nobody sends
        told.watched.busy.store(true, std::memory_order_relaxed);
        while (told.spinning.load() != 0) { plan().relax(); }
        told.watched.busy.store(false, std::memory_order_relaxed);
    }

    /// Asks the answerer for its part in `count` messages, the first of which is message `first`. done()
    /// belongs to it.
    void request(Errand errand, std::uint64_t first, std::uint64_t count) {
        Control& told = control();
        told.errand = errand;
        told.first = first;
        told.count = count;
        under_way_ = errand != Errand::end;
        told.watched.busy.store(under_way_, std::memory_order_relaxed);
        told.requests.fetch_add(1, std::memory_order_release);
        wake_one(told.requests);
    }

    /// Returns once the answerer has done what it was asked for: how many messages it found right.
    std::uint64_t done() {
        Control& told = control();
        const std::uint32_t wanted = told.requests.load(std::memory_order_relaxed);
        // A look at the clock of most requests; who polls is not to be seen asleep for the last one's sake.
        for (int looks = 0; looks < 4000 && told.answers.load(std::memory_order_acquire) != wanted; ++looks) {
            plan().relax();
        }
        for (std::uint32_t seen = 0; (seen = told.answers.load(std::memory_order_acquire)) != wanted;) {
            sleep_on(told.answers, seen);
        }
        under_way_ = false;
        told.watched.busy.store(false, std::memory_order_relaxed);
        if (plan().processes) { used_ = told.used; }
        room_->place.check_still_there(::sched_getcpu(), told.cpu);
        return told.right;
    }

    /// After each message, for the watch.
    void note_progress(std::uint64_t number) noexcept {
        control().watched.progress.store(number, std::memory_order_relaxed);
    }

    [[nodiscard]] typename C::End& end() noexcept { return *end_; }
    [[nodiscard]] const Plan& plan() const noexcept { return room_->plan; }
    [[nodiscard]] Control& control() const noexcept { return *room_->control; }
    /// What the other process used for the last request.
    [[nodiscard]] Resources used_elsewhere() const noexcept { return used_; }

    /// How many messages can be on their way at once; 0 where the channel does not tell.
    [[nodiscard]] std::uint64_t held() const { return messages_held(room_->channel); }

    /// Returns once the answerer sleeps in the kernel.
    void await_answerer_asleep() {
        answerer_.await_settled([this] { plan().relax(); });
    }

    [[nodiscard]] Footing footing() const {
        Footing seen{{"threads", threads_},
                     {"pinned_cpus", room_->place.pinned_cpus()},
                     {"placement", room_->place.placement()},
                     {"between", plan().processes ? "a process and its child" : "two threads of one process"},
                     {"waits", !plan().polling      ? "blocks"
                               : carriers<C>() == 0 ? "polls"
                                                    : "the sides poll, the library's threads sleep"}};
        if (held() != 0) { seen.set({"messages_held", held()}); }
        if constexpr (requires { room_->channel.footing(); }) {
            const Footing told_by_channel = room_->channel.footing();
            for (const auto& [name, value] : told_by_channel.all()) {
                std::visit([&](const auto& told) { seen.set({name, told}); }, value);
            }
        }
        return seen;
    }
    /// By which files each side sees the other one asleep.
    [[nodiscard]] std::string sleep_seen_by() const {
        const std::string_view here = latency::Sleeper::seen_by(answerer_.names_call(), true);
        const std::string_view there = latency::Sleeper::seen_by(control().sees_call, true);
        if (here == there) { return std::string(here); }
        return std::string(there) + " (the asker), " + std::string(here) + " (the answerer)";
    }

private:
    /// What both sides have. A thread holds it as long as it lives.
    struct Room {
        Room(const Arguments& arguments, bool polling)
            : place("auto"),
              plan(plan_of(arguments, polling, carriers<C>(), place)),
              channel(std::as_const(plan)) {}
        latency::PlacedPair place;
        Plan plan;
        Shared<Control> control;
        C channel;
        pid_t asker = ::getpid();
        pid_t asker_thread = static_cast<pid_t>(::syscall(SYS_gettid));
    };

    void start() {
        std::fflush(nullptr);  // else a child's copy of what is buffered could be written twice
        if (room_->plan.processes) {
            // Yama lets a parent look into its child; a child into its parent only where it is a descendant
            // of whom that names here (prctl(2)). Fails where there is no Yama, which forbids nothing then.
            ::prctl(PR_SET_PTRACER, room_->asker, 0, 0, 0);
            child_ = ::fork();
            if (child_ < 0) { throw std::system_error(errno, std::generic_category(), "fork"); }
            if (child_ == 0) { be_child(); }
            answerer_.watch_thread(child_, child_);
            return;
        }
        peer_ = std::thread([room = room_] {
            room->control->thread = static_cast<pid_t>(::syscall(SYS_gettid));
            serve(*room);
        });
    }

    [[noreturn]] void be_child() {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != room_->asker) { ::_exit(1); }  // it died before that
        // The protocol's input is the asker's alone.
        const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        if (nothing >= 0) { ::dup2(nothing, STDIN_FILENO); }
        ::_exit(serve(*room_) ? 0 : 1);
    }

    /// The answerer, from its first step to its last. Whether it did all that it was asked for.
    static bool serve(Room& room) {
        Control& told = *room.control;
        const auto fail = [&told, &room](Control::State state, const char* why) {
            const bool first = told.state.load() == static_cast<std::uint32_t>(Control::State::starting);
            std::snprintf(told.why, sizeof told.why, "%s", why);
            if (first) { told.watched.may_end.store(true); }
            told.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
            wake_one(told.state);
            if (!first && !told.watched.may_end.load(std::memory_order_acquire)) {
                // The asker may sleep in the kernel or poll memory: nothing reaches it there.
                std::fprintf(stderr, "the answering side failed: %s\n", why);
                leave_nothing(room.channel);
                ::_exit(1);
            }
            return false;
        };
        try {
            Answerer(room).serve();
            return true;
        } catch (const Unsupported& cannot) {
            return fail(Control::State::unsupported, cannot.what());
        } catch (const std::exception& error) { return fail(Control::State::failed, error.what()); }
    }

    class Answerer {
    public:
        explicit Answerer(Room& room)
            : room_(room), end_(made_untied(room)), messages_(Side::answerer, room.plan.bytes) {
            room.place.pin_peer();
            asker_.watch_thread(room.asker, room.asker_thread);
        }

        void serve() {
            Control& told = *room_.control;
            told.thread = static_cast<pid_t>(::syscall(SYS_gettid));
            told.threads = threads_here();
            told.sees_call = asker_.names_call();
            told.state.store(static_cast<std::uint32_t>(Control::State::ready), std::memory_order_release);
            wake_one(told.state);
            for (std::uint32_t number = 0;; ++number) {
                await_request(number);
                if (told.errand == Errand::end) { return; }
                const auto before = Resources::at_start();
                told.right = told.errand == Errand::take            ? take(told.first, told.count)
                             : told.errand == Errand::answer_asleep ? answer<true>(told.first, told.count)
                                                                    : answer<false>(told.first, told.count);
                told.used = Resources::at_stop() - before;
                told.cpu = ::sched_getcpu();
                told.answers.store(number + 1, std::memory_order_release);
                wake_one(told.answers);
            }
        }

    private:
        /// Sleeps, or spins where it is told to, until there is a request beyond `number`.
        void await_request(std::uint32_t number) {
            Control& told = *room_.control;
            while (told.requests.load(std::memory_order_acquire) == number) {
                if (told.spins.load() == 0) {
                    told.spinning.store(0);
                    sleep_on(told.requests, number);
                    continue;
                }
                told.spinning.store(1);
                while (told.spins.load() != 0 && told.requests.load(std::memory_order_acquire) == number) {
                    room_.plan.relax();
                }
            }
        }

        static std::unique_ptr<typename C::End> made_untied(Room& room) {
            const UntiedHere untied;  // a library's own threads shall not all be on the side's one CPU
            return std::make_unique<typename C::End>(room.channel, Side::answerer);
        }

        std::uint64_t take(std::uint64_t first, std::uint64_t count) {
            std::uint64_t right = 0;
            for (std::uint64_t number = first; number != first + count; ++number) {
                end_->receive(messages_.in());
                if (messages_.received(number)) [[likely]] { ++right; }
            }
            return messages_.received_whole(first + count - 1) ? right : 0;
        }

        template <bool once_asleep>
        std::uint64_t answer(std::uint64_t first, std::uint64_t count) {
            const Clock& clock = clock_;
            std::uint64_t right = 0;
            for (std::uint64_t number = first; number != first + count; ++number) {
                const auto reply = messages_.stamped(number);
                end_->receive(messages_.in());
                if constexpr (!once_asleep) {
                    if (messages_.received(number)) [[likely]] { ++right; }
                } else {
                    const Ticks came = clock.stop();
                    if (messages_.received(number)) { ++right; }
                    asker_.await_settled([this] { room_.plan.relax(); });
                    room_.control->away.store(clock.start() - came, std::memory_order_relaxed);
                }
                end_->send(reply);
            }
            flush(*end_);
            return messages_.received_whole(first + count - 1) ? right : 0;
        }

        Room& room_;
        std::unique_ptr<typename C::End> end_;
        Messages messages_;
        Clock clock_ = Clock::system();
        latency::Sleeper asker_;
    };

    void await_ready() {
        Control& told = control();
        std::uint32_t seen = 0;
        while ((seen = told.state.load(std::memory_order_acquire)) == 0) { sleep_on(told.state, seen); }
        const auto state = static_cast<Control::State>(seen);
        if (state == Control::State::unsupported) { throw Unsupported(std::string(told.why)); }
        if (state == Control::State::failed) { throw std::runtime_error(std::string(told.why)); }
        if (!room_->plan.processes) { answerer_.watch_thread(room_->asker, told.thread); }
    }

    /// After a failure: the answerer may wait for a message that nobody will send.
    void abandon() noexcept {
        control().watched.may_end.store(true, std::memory_order_release);
        watch_.reset();
        if (child_ != 0) {
            ::kill(child_, SIGKILL);
            reap();
        }
        if (peer_.joinable()) { peer_.detach(); }  // it keeps the room; this process ends soon
    }

    /// A child that does not end by itself within two seconds is killed.
    void reap() noexcept {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        while (::waitpid(child_, nullptr, WNOHANG) == 0) {
            if (std::chrono::steady_clock::now() > deadline) { ::kill(child_, SIGKILL); }
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    }

    std::shared_ptr<Room> room_;
    pid_t child_ = 0;
    std::thread peer_;
    std::unique_ptr<typename C::End> end_;
    std::optional<Watch> watch_;
    latency::Sleeper answerer_;
    Resources used_;
    std::int64_t threads_ = 0;  ///< of both sides, with those of libraries
    bool under_way_ = false;
};

}  // namespace toll::ipc
