#include "both.hpp"
#include "descriptors.hpp"
#include "ring.hpp"

#include <sys/eventfd.h>

namespace {

/// As the futex's, but for what is slept on: an eventfd, which an event loop could wait for as well. It is
/// made before the other side exists, so that both have it.
class EventfdBell {
public:
    EventfdBell() { toll::ipc::check_call(event_ = ::eventfd(0, EFD_CLOEXEC), "eventfd"); }
    EventfdBell(const EventfdBell&) = delete;
    EventfdBell& operator=(const EventfdBell&) = delete;
    ~EventfdBell() { ::close(event_); }

    void ring() noexcept {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (sleeps_.load(std::memory_order_relaxed) != 0 &&
            sleeps_.exchange(0, std::memory_order_relaxed) != 0) {
            const std::uint64_t one = 1;
            while (::write(event_, &one, sizeof one) < 0 && errno == EINTR) {}
        }
    }
    template <class Ready>
    void wait(Ready ready) noexcept {
        while (!ready()) {
            sleeps_.store(1, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);
            // Who has taken the word will write: that is read, so that it does not end the next wait.
            if (ready() && sleeps_.exchange(0, std::memory_order_relaxed) != 0) { return; }
            std::uint64_t rung = 0;
            while (::read(event_, &rung, sizeof rung) < 0 && errno == EINTR) {}
        }
    }

private:
    toll::ipc::Word sleeps_{0};
    int event_ = -1;
};

}  // namespace

using RingEventfd = toll::ipc::RingChannel<EventfdBell>;

TOLL_IPC_CONTENDER(ring_eventfd, RingEventfd);
