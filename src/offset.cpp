#include "toll/offset.hpp"

#include <array>
#include <atomic>
#include <limits>
#include <thread>

#include "toll/relax.hpp"
#include "toll/threads.hpp"

namespace toll {
namespace {

struct Mail {
    // On lines of their own: the two sides write at the same time.
    alignas(128) std::atomic<int> asked{0};
    alignas(128) std::atomic<int> answered{0};
    Ticks answer_at = 0;  // written before `answered`
};

void wait_for(const std::atomic<int>& number, int wanted) {
    // Yields now and then: where both CPUs are busy, or one and the same, spinning alone would wait
    // for the scheduler's next turn.
    for (int spins = 0; number.load(std::memory_order_acquire) != wanted; ++spins) {
        if (spins % 4096 == 4095) {
            std::this_thread::yield();
        } else {
            cpu_relax();
        }
    }
}

void ask(const Clock& clock, Mail& mail, int round_trips, ClockOffset& best) {
    best.uncertainty_ns = std::numeric_limits<double>::infinity();
    for (int trip = 1; trip <= round_trips; ++trip) {
        const Ticks sent = clock.start();
        mail.asked.store(trip, std::memory_order_release);
        wait_for(mail.answered, trip);
        const Ticks back = clock.stop();
        const double half_ns = clock.raw_ns(sent, back) / 2;
        if (half_ns < best.uncertainty_ns) {
            best = {.ns = clock.raw_ns(sent, mail.answer_at) - half_ns, .uncertainty_ns = half_ns};
        }
    }
}

void answer(const Clock& clock, Mail& mail, int round_trips) {
    for (int trip = 1; trip <= round_trips; ++trip) {
        wait_for(mail.asked, trip);
        mail.answer_at = clock.stop();
        mail.answered.store(trip, std::memory_order_release);
    }
}

}  // namespace

ClockOffset measure_offset(const Clock& clock, int cpu_a, int cpu_b, int round_trips) {
    Mail mail;
    ClockOffset best;
    const std::array cpus{cpu_a, cpu_b};
    Crew crew(2, cpus);
    crew.run([&](unsigned member) {
        if (member == 0) {
            ask(clock, mail, round_trips, best);
        } else {
            answer(clock, mail, round_trips);
        }
    });
    return best;
}

}  // namespace toll
